"""Numbers of errors as Tarantool's scripts compare them: `e.code == box.error.READONLY`."""

from collections.abc import Mapping
from typing import Final

from qsync.errors import QsyncError

OWN: Final = 100_000
"""Errors without an equivalent in Tarantool have their own number above this."""

CODES: Final[Mapping[str, int]] = {
    "UNKNOWN": 0,
    "ILLEGAL_PARAMS": 1,
    "TUPLE_FOUND": 3,
    "UNSUPPORTED": 5,
    "READONLY": 7,
    "INJECTION": 8,
    "SPACE_EXISTS": 10,
    "ALTER_SPACE": 12,
    "FIELD_TYPE": 23,
    "UPDATE_FIELD": 29,
    "KEY_PART_COUNT": 31,
    "PROC_LUA": 32,
    "NO_SUCH_INDEX_ID": 35,
    "NO_SUCH_SPACE": 36,
    "WAL_IO": 40,
    "ACCESS_DENIED": 42,
    "NO_SUCH_USER": 45,
    "USER_EXISTS": 46,
    "CFG": 59,
    "NO_SUCH_SAVEPOINT": 61,
    "NO_CONNECTION": 77,
    "TIMEOUT": 78,
    "ACTIVE_TRANSACTION": 79,
    "SESSION_CLOSED": 86,
    "TRANSACTION_CONFLICT": 97,
    "PROTOCOL": 104,
    "SYNC_QUORUM_TIMEOUT": 216,
    "SYNC_ROLLBACK": 217,
    "QUORUM_WAIT": 222,
    "INTERFERING_PROMOTE": 223,
    "ELECTION_DISABLED": 224,
    "TXN_ROLLBACK": 225,
    "NOT_LEADER": 226,
    "SYNC_QUEUE_UNCLAIMED": 227,
    "SYNC_QUEUE_FOREIGN": 228,
    "NO_ELECTION_QUORUM": 242,
    "SPLIT_BRAIN": 244,
    "OLD_TERM": 245,
    "INTERFERING_ELECTIONS": 246,
    "IN_ANOTHER_PROMOTE": 278,
    "SHUTDOWN": 279,
}
"""Tarantool's names and numbers (src/box/errcode.h): those used by its tests of replication, and
those equivalent to our errors.
"""

_SAME: Final[Mapping[str, str]] = {
    "NOT_LEADER": "READONLY",
    "READONLY": "READONLY",
    "QUORUM_TIMEOUT": "SYNC_QUORUM_TIMEOUT",
    "ROLLED_BACK": "SYNC_ROLLBACK",
    "CONFLICT": "TRANSACTION_CONFLICT",
    "SPLIT_BRAIN": "SPLIT_BRAIN",
    "ACCESS_DENIED": "ACCESS_DENIED",
    "UNAVAILABLE": "NO_CONNECTION",
    "UNANSWERED": "TIMEOUT",
    "TIMED_OUT": "TIMEOUT",
    "NO_SUCH_SPACE": "NO_SUCH_SPACE",
    "NO_SUCH_INDEX": "NO_SUCH_INDEX_ID",
    "SPACE_EXISTS": "SPACE_EXISTS",
    "DUPLICATE_KEY": "TUPLE_FOUND",
    "WRONG_TUPLE": "FIELD_TYPE",
    "WRONG_KEY": "KEY_PART_COUNT",
    "WRONG_OPERATION": "ILLEGAL_PARAMS",
    "WRONG_SCHEMA": "ALTER_SPACE",
    "PROTOCOL": "PROTOCOL",
    "STORE": "WAL_IO",
    "DISK_FULL": "WAL_IO",
    "CONFIG": "CFG",
    "NOT_SUPPORTED": "UNSUPPORTED",
    "TRANSACTION": "ACTIVE_TRANSACTION",
    "LUA": "PROC_LUA",
}
"""The Tarantool names of our codes."""


def code_of(error: QsyncError) -> int:
    """Tarantool's number of the same error; else our own number, above all of Tarantool's."""
    name = _SAME.get(error.code)
    return OWN + error.number if name is None else CODES[name]


def fields_of(error: QsyncError) -> dict[object, object]:
    """Extra fields of Tarantool's error: for READONLY the reason, the term and the leader."""
    details = error.details
    found: dict[object, object] = {
        name: details[name]
        for name in ("leader_id", "term", "state", "queue_owner_id")
        if details.get(name)
    }
    reasons = details.get("reasons")
    if isinstance(reasons, list) and reasons:
        found["reason"] = str(reasons[0][0])
    return found
