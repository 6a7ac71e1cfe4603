"""Transactions of several steps, as the client that ships makes them, whose callers may go."""

from qsync.client import operations
from qsync.client.async_.transaction import AsyncTransaction, AsyncTransactionSpace
from qsync.client.draft import NoTransaction
from qsync.client.rows import Row
from qsync.errors import Outcome
from qsync.sim import spaces
from qsync.sim.canon import PropertyViolation
from qsync.sim.operations import TransactionOperation
from qsync.sim.spaces import LISTS

PAGE_ROWS = 2
"""So few that most ranges are read in several pages."""
TYPES = {Outcome.COMMITTED: "ok", Outcome.ROLLED_BACK: "fail", Outcome.UNKNOWN: "info"}
"""What a history calls the outcome of a transaction."""


async def take_steps(tx: AsyncTransaction, asked: TransactionOperation) -> list[list[object]]:
    """Take all steps; return what it has read and will have appended, for the checker."""
    space, done = tx.space(LISTS), list[list[object]]()
    for what, key, value in asked.steps:
        match what:
            case "get":
                done.append(_read(key, await space.get([key])))
            case "pages":
                rows = await _pages(space)
                done += [_read(each, rows.get(each)) for each in range(asked.keys)]
            case "append":
                space.upsert([key, value], _first(value))
                done.append(["append", key, value])
            case "try":
                await tx.try_write(operations.upsert(LISTS, [key, value], _first(value)))
                done.append(["append", key, value])
            case "undo":
                size = tx.size
                space.upsert([key, value], _first(value))
                await space.get([key])
                tx.back_to(size)
            case _:
                raise AssertionError(what)
    return done


def type_of(tx: AsyncTransaction) -> str:
    """Return what a history calls the outcome that a transaction says it has; it is over."""
    try:
        tx.back_to(tx.size)
    except NoTransaction as error:
        return TYPES[error.outcome]
    raise PropertyViolation(22, "a transaction whose caller has gone is open")


async def _pages(space: AsyncTransactionSpace) -> dict[object, Row]:
    rows: dict[object, Row] = {}
    page = await space.select(limit=PAGE_ROWS)
    while page:
        rows.update((row[0], row) for row in page)
        page = await space.select(limit=PAGE_ROWS, after=page[-1])
    return rows


def _read(key: int, row: Row | None) -> list[object]:
    shown = spaces.shown(LISTS, row)
    return ["r", key, [] if shown is None else shown]


def _first(value: int) -> list[list[object]]:
    """Return the change of a row that has the value from now on; the newest comes first."""
    return [["!", 2, value]]
