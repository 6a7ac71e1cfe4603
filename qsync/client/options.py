"""Options that many calls take, and their wire form."""

from collections.abc import Iterable, Sequence
from typing import Final, Literal, TypedDict

from qsync.client import calls
from qsync.client.calls import ClientCall, Commit, KeyRange, range_of
from qsync.client.rows import Key, ReadConsistency, Receipt, Values, level_of
from qsync.wire.verbs import Name, Operations, ReadLevel

WINDOW: Final = 256
"""How many writes `replace_many` has under way at once."""
OPERATE_S: Final = 10.0
"""How long promote, demote and clear may take, by default."""
GRACE_S: Final = 1.0
"""How much longer the client waits than the node, so that the node's answer wins."""
Format = Iterable[object]
"""Fields: `("name", "type")` each, or `{"name": ..., "type": ..., "is_nullable": ...}`."""


class WriteOptions(TypedDict, total=False):
    """`is_sync`: wait for a quorum (default: the setting of the space). `wait`: `complete`,
    `submit` (answered when appended) or `none` (never blocks). `token`: from an OutcomeUnknown, to
    ask for the same write again. `timeout`: seconds.
    """  # noqa: D205 - the options are the summary

    is_sync: bool | None
    wait: Literal["complete", "submit", "none"]
    token: str | None
    timeout: float | None


class SchemaOptions(TypedDict, total=False):
    """`token` and `timeout`, as for any write. Schema changes are always synchronous."""

    token: str | None
    timeout: float | None


class ReadOptions(TypedDict, total=False):
    """`consistency`: `linearizable` (default), `lease` or `local`; or `at_least` a receipt."""

    consistency: ReadConsistency
    at_least: Receipt | None
    timeout: float | None


class RangeOptions(ReadOptions, total=False):
    """Which tuples: index, iterator (`eq ge gt le lt all req`), limit, offset, after (a tuple)."""

    index: Name
    iterator: str | None
    limit: int | None
    offset: int
    after: Values | None


def write(ops: Operations, options: WriteOptions) -> ClientCall[Receipt]:
    """Return a write of one transaction with these options."""
    return calls.write(ops, commit_of(options)) if options else calls.write(ops)


def change(operation: list[object], options: SchemaOptions) -> ClientCall[Receipt]:
    """Return a change of the schema with these options."""
    return calls.write([operation], Commit(token=options.get("token")))


def commit_of(options: WriteOptions) -> Commit:
    """Return the options of the commit."""
    return Commit(
        is_sync=options.get("is_sync"),
        wait=options.get("wait", "complete"),
        token=options.get("token"),
    )


def level(options: ReadOptions) -> ReadLevel:
    """Return how fresh a read must be."""
    return level_of(options.get("consistency", "linearizable"), options.get("at_least"))


def which(key: Key, options: RangeOptions) -> KeyRange:
    """Return the range."""
    return range_of(
        key,
        index=options.get("index", 0),
        iterator=options.get("iterator"),
        limit=options.get("limit"),
        offset=options.get("offset", 0),
        after=options.get("after"),
    )


Changes = Sequence[Values]
"""Update operations: `(operator, field, value)` each, operators `= + - & | ^ # ! :`."""
