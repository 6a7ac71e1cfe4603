"""Linearizability of client histories, key by key."""

from admin.checker.linear.bank import Bank
from admin.checker.linear.check import (
    LINEARIZABLE,
    check,
    check_bank,
    check_cas_register,
    check_counter,
    check_key,
    check_kv,
    check_register,
    check_set,
)
from admin.checker.linear.models import CasRegister, Counter, GrowingSet, Model, Register, Sentinel
from admin.checker.linear.search import STEPS_MAX, LinearSearch, SearchConclusion, search
from admin.checker.linear.texts import Text

__all__ = [
    "LINEARIZABLE",
    "STEPS_MAX",
    "Bank",
    "CasRegister",
    "Counter",
    "GrowingSet",
    "LinearSearch",
    "Model",
    "Register",
    "SearchConclusion",
    "Sentinel",
    "Text",
    "check",
    "check_bank",
    "check_cas_register",
    "check_counter",
    "check_key",
    "check_kv",
    "check_register",
    "check_set",
    "search",
]
