"""Linearizability of client histories, key by key."""

from admin.checker.linear.models import MODELS, Bank, CasRegister, Model, Operation, Register
from admin.checker.linear.search import Found, Search, search
from admin.checker.linear.verdict import KeyVerdict, Linearity, Report, check, operations

__all__ = [
    "MODELS",
    "Bank",
    "CasRegister",
    "Found",
    "KeyVerdict",
    "Linearity",
    "Model",
    "Operation",
    "Register",
    "Report",
    "Search",
    "check",
    "operations",
    "search",
]
