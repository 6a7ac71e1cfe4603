"""The data that a campaign writes, and how to read it back."""

from typing import Final

from admin.campaign.checker import StoredState
from qsync.client.blocking import Client
from qsync.client.operations import Operation, update, upsert

COUNTERS: Final = 4
COUNTED, JOURNAL, NOTES = "counted", "journal", "notes"
_PAGE: Final = 2000


def prepare(client: Client) -> None:
    """Create the spaces."""
    unsigned = "unsigned"
    client.schema.create_space(
        COUNTED, is_sync=True, format=[("id", unsigned), ("number", unsigned), ("value", unsigned)]
    )
    client.schema.create_space(
        JOURNAL,
        is_sync=True,
        format=[("value", unsigned), ("counter", unsigned), ("times", unsigned)],
    )
    client.schema.create_space(NOTES, format=[("value", unsigned), ("times", unsigned)])
    for counter in range(COUNTERS):
        client.space(COUNTED).insert([counter, 0, 0])


def counted(value: int, counter: int) -> list[Operation]:
    """Send a synchronous write: add one to the counter, and a row to the journal.

    Done twice it would count twice, in both.
    """
    return [
        update(COUNTED, counter, [("+", "number", 1), ("=", "value", value)]),
        upsert(JOURNAL, [value, counter, 1], [("+", "times", 1)]),
    ]


def noted(value: int) -> list[Operation]:
    """Send a write to the asynchronous space."""
    return [upsert(NOTES, [value, 1], [("+", "times", 1)])]


def stored(client: Client) -> StoredState:
    """Return everything that the node of a direct client holds now."""
    return StoredState(
        journal={row[0]: (row[1], row[2]) for row in _rows(client, JOURNAL)},
        notes={row[0]: row[1] for row in _rows(client, NOTES)},
        counters={row[0]: (row[1], row[2]) for row in _rows(client, COUNTED)},
    )


def _rows(client: Client, space: str) -> list[list[int]]:
    found: list[list[int]] = []
    after: list[int] | None = None
    while True:
        page = client.space(space).select(
            consistency="local", iterator="all", limit=_PAGE, after=after
        )
        rows = [[int(str(field)) for field in row] for row in page]
        found += rows
        if len(rows) < _PAGE:
            return found
        after = rows[-1]
