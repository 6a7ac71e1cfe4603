"""Ends of operations: of the one that began, and of another one."""

from typing import TypeAlias

End: TypeAlias = dict[str, object]

WRITE: End = {"f": "write", "key": "k", "value": 1}
TXN: End = {"f": "txn", "value": [["append", "x", 1], ["r", "y", None]]}

OTHERS: tuple[tuple[End, End], ...] = (
    (WRITE, {**WRITE, "f": "add"}),
    (WRITE, {**WRITE, "key": "other"}),
    (WRITE, {**WRITE, "value": 2}),
    (WRITE, {**WRITE, "value": True}),
    (WRITE, {**WRITE, "type": "fail", "f": "read"}),
    (WRITE, {**WRITE, "type": "info", "key": 1}),
    ({"f": "write", "value": 1}, WRITE),
    ({"f": "read", "key": "k"}, {"f": "read", "key": "other", "value": 5}),
    (TXN, {"f": "txn", "value": [["append", "x", 2], ["r", "y", [1]]]}),
    (TXN, {"f": "txn", "value": [["append", "z", 1], ["r", "y", [1]]]}),
    (TXN, {"f": "txn", "value": [["append", "x", 1], ["r", "z", [1]]]}),
    (TXN, {"f": "txn", "value": [["append", "x", 1]]}),
    (TXN, {"f": "txn", "value": 1}),
)
"""What is answered is not what was asked."""

SAME: tuple[tuple[End, End], ...] = (
    (WRITE, WRITE),
    (WRITE, {"f": "write"}),
    (WRITE, {**WRITE, "type": "fail", "value": "the disk is full"}),
    (WRITE, {**WRITE, "type": "info", "value": "timed out"}),
    ({"f": "write", "key": "k"}, WRITE),
    ({**WRITE, "value": {"a": 1, "b": 2}}, {**WRITE, "value": {"b": 2, "a": 1}}),
    ({"f": "read", "key": "k"}, {"f": "read", "key": "k", "value": 5}),
    ({"f": "read", "key": "k", "value": 1}, {"f": "read", "key": "k", "value": 5}),
    (TXN, {"f": "txn", "value": [["append", "x", 1], ["r", "y", [1]]]}),
    ({"f": "txn"}, TXN),
)
"""An end need not repeat anything but the name; what was read may be anything."""
