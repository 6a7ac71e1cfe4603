"""The spaces of a simulated cluster, how clients write to them, and how to read their rows."""

from collections.abc import Sequence

import cbor2

from qsync.data.operation_kinds import Op, ReadKind

REGISTERS, LISTS, COUNTERS, CHECKING, SAVINGS, NOTES = range(512, 518)
NAMES = {
    REGISTERS: "registers",
    LISTS: "lists",
    COUNTERS: "counters",
    CHECKING: "checking",
    SAVINGS: "savings",
    NOTES: "notes",
}
"""Only notes are asynchronous."""
SCRATCH = 600
"""Created and dropped, in some runs; no client reads it."""
BANK = (CHECKING, SAVINGS)
START = 100
"""The initial balance of every account."""
_PRIMARY = 0
_FIELD, _VALUE = 1, 2


def create(keys: int) -> list[list[object]]:
    """The first transaction: the spaces, the accounts, the counters.

    It changes no existing row: an abandoned attempt may arrive while others work.
    """
    ops = [_create(space) for space in NAMES]
    ops += [_unless_there(space, key, START) for space in BANK for key in range(keys)]
    return ops + [_unless_there(COUNTERS, key, 0) for key in range(keys)]


def reset(keys: int) -> list[list[object]]:
    """A transaction that restores the state after the first one."""
    emptied = (REGISTERS, LISTS, NOTES)
    ops: list[list[object]] = [
        [Op.DELETE, space, _PRIMARY, [key]] for space in emptied for key in range(keys)
    ]
    ops += [put(space, key, START) for space in BANK for key in range(keys)]
    return ops + [put(COUNTERS, key, 0) for key in range(keys)]


def _make_scratch(key: int, value: object) -> list[list[object]]:
    return [_create(SCRATCH), put(SCRATCH, key, value)]


def _empty_scratch(key: int, value: object) -> list[list[object]]:
    return [_create(SCRATCH), [Op.TRUNCATE, SCRATCH], put(SCRATCH, key, value)]


def _drop_scratch(_key: int, _value: object) -> list[list[object]]:
    return [[Op.DROP_SPACE, "scratch"]]


def _make_index(_key: int, _value: object) -> list[list[object]]:
    parts = {"parts": [[_VALUE, "unsigned"]], "unique": False, "if_not_exists": True}
    return [[Op.CREATE_INDEX, REGISTERS, "by value", parts]]


def _drop_index(_key: int, _value: object) -> list[list[object]]:
    return [[Op.DROP_INDEX, REGISTERS, "by value"]]


CHANGES = (_make_scratch, _make_scratch, _empty_scratch, _drop_scratch, _make_index, _drop_index)
"""Of the schema, as the first part of a transaction."""


def _unless_there(space: int, key: int, value: object) -> list[object]:
    return [Op.UPSERT, space, cbor2.dumps([key, value]), []]


def put(space: int, key: int, value: object) -> list[object]:
    """The key holds the value."""
    return [Op.REPLACE, space, cbor2.dumps([key, value])]


def increase(space: int, key: int, amount: int) -> list[object]:
    """The key holds that much more."""
    operator = "+" if amount >= 0 else "-"
    return [Op.UPDATE, space, _PRIMARY, [key], [[operator, _VALUE, abs(amount)]]]


def append(key: int, value: int) -> list[object]:
    """The list gets one more value; in the row the newest comes first."""
    return [Op.UPSERT, LISTS, cbor2.dumps([key, value]), [["!", _VALUE, value]]]


def require(space: int, key: int, row: Sequence[object] | None) -> list[object]:
    """The row is this one, or nothing is done."""
    wanted = None if row is None else cbor2.dumps(row)
    return [Op.REQUIRE_EQUAL, space, _PRIMARY, [key], wanted]


def require_existence(space: int, key: int, *, exists: bool) -> list[object]:
    """There is (no) row, or nothing is done."""
    return [Op.REQUIRE_EXISTENCE, space, _PRIMARY, [key], exists]


def was_read(space: int, key: int) -> list[object]:
    """An item of a read set."""
    return [ReadKind.KEY, space, _PRIMARY, [key]]


def shown(space: int, row: Sequence[object] | None) -> object:
    """The value of a row for a reader: a list with the oldest value first, or the single value."""
    if row is None:
        return None
    return list(reversed(row[1:])) if space == LISTS else row[1]


def account(space: int, key: int) -> str:
    """An account as histories call it."""
    return f"{NAMES[space]} {key}"


def accounts(keys: int) -> tuple[tuple[int, int], ...]:
    """The whole bank."""
    return tuple((space, key) for space in BANK for key in range(keys))


def _create(space: int) -> list[object]:
    options: dict[str, object] = {
        "id": space,
        "is_sync": space != NOTES,
        "if_not_exists": True,
        "primary": [[_FIELD, "unsigned"]],
    }
    return [Op.CREATE_SPACE, NAMES.get(space, "scratch"), options]
