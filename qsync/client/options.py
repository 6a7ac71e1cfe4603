"""Options that many calls take, and their wire form."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, TypedDict

from qsync.client import calls
from qsync.client.arguments import seconds_of
from qsync.client.calls import ClientCall, Commit, KeyRange, range_of
from qsync.client.operations import Operation
from qsync.client.rows import Key, ReadConsistency, Receipt, Values, level_of
from qsync.errors import ConfigError
from qsync.wire.verbs import Name, Operations, ReadLevel

WINDOW: Final = 256
"""How many writes `replace_many` has under way at once."""
OPERATE_S: Final = 10.0
"""How long promote, demote and clear may take, by default."""
GRACE_S: Final = 1.0
"""How much longer the client waits than the node, so that the node's answer wins."""
Format = Iterable[object]
"""Fields: `("name", "type")` each, or `{"name": ..., "type": ..., "is_nullable": ...}`."""


class ManyWritesOptions(TypedDict, total=False):
    """`is_sync`: wait for a quorum (default: the setting of the space). `wait`: `complete`,
    `submit` (answered when appended) or `none` (never blocks). `timeout`: seconds.
    """  # noqa: D205 - the options are the summary

    is_sync: bool | None
    wait: Literal["complete", "submit", "none"]
    timeout: float | None


class WriteOptions(ManyWritesOptions, total=False):
    """Also `token`: from an OutcomeUnknown, to ask for the same write again."""

    token: str | None


class SchemaOptions(TypedDict, total=False):
    """`token` and `timeout`, as for any write. Schema changes are always synchronous."""

    token: str | None
    timeout: float | None


class ReadOptions(TypedDict, total=False):
    """`consistency`: `linearizable` (default), `lease` or `local`; or `at_least` a receipt."""

    consistency: ReadConsistency
    at_least: Receipt | None
    timeout: float | None


class IndexOptions(TypedDict, total=False):
    """Which tuples: index, iterator (`eq ge gt le lt all req`)."""

    index: Name
    iterator: str | None


class PageOptions(IndexOptions, total=False):
    """Which tuples, and of these: limit, offset, after (a tuple)."""

    limit: int | None
    offset: int
    after: Values | None


class RangeOptions(ReadOptions, PageOptions, total=False):
    """Which tuples, and how fresh."""


class CountOptions(ReadOptions, IndexOptions, total=False):
    """Which tuples are counted, and how fresh."""


READ: Final = ReadOptions.__optional_keys__
RANGE: Final = RangeOptions.__optional_keys__
PAGE: Final = PageOptions.__optional_keys__
COUNT: Final = CountOptions.__optional_keys__
"""The options of each kind of read."""


def beyond(timeout: float) -> float:
    """Return how long the client waits for what the node may do so long. Raises ConfigError."""
    return seconds_of("timeout", timeout) + GRACE_S


def check(options: Mapping[str, object], known: frozenset[str]) -> None:
    """Raises ConfigError for an option that the call does not have: it would be ignored."""
    if options and not options.keys() <= known:
        wrong = min(options.keys() - known)
        raise ConfigError(f"there is no option {wrong!r}", hint=", ".join(sorted(known)))


def write(ops: Operations, options: WriteOptions) -> ClientCall[Receipt]:
    """Return a write of one transaction with these options."""
    return calls.write(ops, commit_of(options)) if options else calls.write(ops)


def writes(each: Iterable[Operation], options: ManyWritesOptions) -> Iterator[ClientCall[Receipt]]:
    """Return writes of one operation each with these options."""
    check(options, _MANY)
    commit = Commit(is_sync=options.get("is_sync"), wait=options.get("wait", "complete"))
    return (calls.write([operation], commit) for operation in each)


def change(operation: list[object], options: SchemaOptions) -> ClientCall[Receipt]:
    """Return a change of the schema with these options."""
    check(options, _SCHEMA)
    return calls.write([operation], Commit(token=options.get("token")))


def commit_of(options: WriteOptions) -> Commit:
    """Return the options of the commit. Raises ConfigError."""
    check(options, _WRITE)
    return Commit(
        is_sync=options.get("is_sync"),
        wait=options.get("wait", "complete"),
        token=options.get("token"),
    )


def level(options: ReadOptions, known: frozenset[str] = READ) -> ReadLevel:
    """Return how fresh a read must be. `known`: the options of the call. Raises ConfigError."""
    check(options, known)
    return level_of(options.get("consistency", "linearizable"), options.get("at_least"))


def counted(key: Key, options: CountOptions) -> KeyRange:
    """Return the range whose tuples are counted."""
    return range_of(key, index=options.get("index", 0), iterator=options.get("iterator"))


def which(key: Key, options: PageOptions) -> KeyRange:
    """Return the range. Raises ConfigError."""
    return range_of(
        key,
        index=options.get("index", 0),
        iterator=options.get("iterator"),
        limit=options.get("limit"),
        offset=options.get("offset", 0),
        after=options.get("after"),
    )


_WRITE: Final = WriteOptions.__optional_keys__
_MANY: Final = ManyWritesOptions.__optional_keys__
_SCHEMA: Final = SchemaOptions.__optional_keys__
Changes = Sequence[Values]
"""Update operations: `(operator, field, value)` each, operators `= + - & | ^ # ! :`."""
