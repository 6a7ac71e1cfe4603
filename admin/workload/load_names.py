"""Kinds of load that clients can put on a cluster, and the spaces that they write to."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

LEFT, RIGHT = "bank_left", "bank_right"
REGISTERS, JOURNAL = "registers", "journal"
LISTS, SETS, QUEUE = "lists", "sets", "queue"
BANK = "bank"
ACCOUNTS = 4
"""The number of accounts in each of the two spaces."""
BALANCE = 100
KEYS = 6
FULL = 100
"""How many acknowledged writes of all clients before new lists and sets are used."""

SPACES: Mapping[str, tuple[Sequence[tuple[str, str]], bool, Sequence[str] | None]] = {
    LEFT: ([("id", "unsigned"), ("balance", "integer")], True, None),
    RIGHT: ([("id", "unsigned"), ("balance", "integer")], True, None),
    REGISTERS: ([("id", "unsigned"), ("value", "unsigned")], True, None),
    JOURNAL: ([("id", "unsigned"), ("what", "string")], True, None),
    LISTS: ([("id", "unsigned"), ("items", "array")], True, None),
    SETS: ([("set", "unsigned"), ("number", "unsigned")], True, ("set", "number")),
    QUEUE: ([("number", "unsigned"), ("client", "unsigned")], False, None),
}
"""Format, synchronous or not, and the parts of the primary key where it is not the first field."""


class LoadKind(StrEnum):
    """A kind of load; what its clients do is in `admin.workload.catalogue`."""

    MIXED = "mixed"
    REGISTER = "register"
    CAS = "cas"
    APPEND = "append"
    BANK = "bank"
    SET = "set"
    QUEUE = "queue"
