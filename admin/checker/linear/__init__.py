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
from admin.checker.linear.models import CasRegister, Counter, GrowingSet, Mark, Model, Register
from admin.checker.linear.search import STEPS_MAX, Found, Search, search
from admin.checker.linear.texts import Text

__all__ = [
    "LINEARIZABLE",
    "STEPS_MAX",
    "Bank",
    "CasRegister",
    "Counter",
    "Found",
    "GrowingSet",
    "Mark",
    "Model",
    "Register",
    "Search",
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
