"""Rows of `_cluster` and `_schema` that every Tarantool cluster stores and ours only implies.

Members become rows of `_cluster` here at their first change; until then they are the founding
members. Stored rows override implied ones.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from admin.box.session import Box

Row = list[object]


async def implied_rows(box: Box, space: str) -> list[Row]:
    """The implied rows of that space, by their first field."""
    made = _ROWS.get(space)
    return [] if made is None else await made(box)


async def _members(box: Box) -> list[Row]:
    info = await box.info()
    known = sorted(info.replication.values(), key=lambda each: each.id)
    return [
        [each.id, each.uuid, None, each.name, box.members.get(str(each.name))] for each in known
    ]


async def _identity(box: Box) -> list[Row]:
    info = await box.info()
    return [
        ["cluster", info.replicaset.uuid],
        ["replicaset_name", info.replicaset.name],
        ["replicaset_uuid", info.replicaset.uuid],
    ]


_ROWS: Final[dict[str, Callable[[Box], Awaitable[list[Row]]]]] = {
    "_cluster": _members,
    "_schema": _identity,
}


def joined(stored: list[Row], implied: list[Row]) -> list[Row]:
    """Return all of them in the order of their keys, each key once."""
    there = {row[0] for row in stored}
    both = [*stored, *(row for row in implied if row[0] not in there)]
    return sorted(
        both, key=lambda row: (len(str(row[0])) if isinstance(row[0], int) else 0, str(row[0]))
    )
