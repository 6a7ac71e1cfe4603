"""`qsync get`, `select`, `insert` and their like: one-shot access to data, arguments as JSON."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, ParamSpec, TypedDict, TypeVar, Unpack

import click
from click.core import ParameterSource
from typing_extensions import override

from cli.examples import examples
from cli.exits import Exit
from cli.options import cluster_options
from cli.output import document, say, style, value
from cli.under_way import AGAIN, change_under_way, committed
from qsync.errors import Outcome, QsyncError
from qsync.units import how_many

if TYPE_CHECKING:
    from qsync.client.blocking import Client
    from qsync.client.rows import ReadConsistency, Receipt
    from qsync.client.sync.transaction import TransactionSpace

P = ParamSpec("P")
R = TypeVar("R")
_common = cluster_options("10s")

LIMIT = 100
"""Rows of a select, by default."""
_CONSISTENCIES = ("linearizable", "lease", "local")
_ITERATORS = ("eq", "ge", "gt", "le", "lt", "all", "req")


_iterator = click.option(
    "--iterator",
    type=click.Choice(_ITERATORS),
    help="eq and req: those at KEY; ge, gt: from there upwards; le, lt: downwards; all.  "
    "[default: eq, all without KEY]",
)


class Json(click.ParamType[object]):
    """A JSON value; what is no JSON is taken as text."""

    name = "json"

    @override
    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> object:
        """Text to a value."""
        if not isinstance(value, str):
            return value
        try:
            found: object = json.loads(value)
        except RecursionError:
            self.fail("the value is nested too deep", param, ctx)
        except ValueError:
            if value[:1] in {"[", "{", '"'}:
                self.fail(f"{value!r} is not JSON, such as '[1, \"ann\"]'", param, ctx)
            return value
        return found


class JsonList(Json):
    """A JSON array, such as `such`."""

    def __init__(self, such: str) -> None:
        self._such = such

    @override
    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[object]:
        """Text to a list."""
        found = super().convert(value, param, ctx)
        if isinstance(found, list):
            return found
        return self.fail(f"{value!r} is no JSON array, such as '{self._such}'", param, ctx)


_SPACE = click.argument("space")
_KEY = click.argument("key", type=Json())
_TUPLE = click.argument("row", type=JsonList('[1, "ann"]'), metavar="TUPLE")
_CHANGES = click.argument("changes", type=JsonList('[["+", 2, 10]]'), metavar="OPERATIONS")


def _reads(command: Callable[P, R]) -> Callable[P, R]:
    consistency = click.option(
        "--consistency",
        type=click.Choice(_CONSISTENCIES),
        default=_CONSISTENCIES[0],
        show_default=True,
        help="How fresh the answer must be.",
    )
    index = click.option(
        "--index", default="0", help="Name or number of an index.  [default: the primary]"
    )
    return consistency(index(_common(command)))


class _WriteOptions(TypedDict):
    """What `_writes` gives a command."""

    target: list[str]
    timeout: float
    is_sync: bool | None
    token: str | None


def _writes(command: Callable[P, R]) -> Callable[P, R]:
    sync = click.option(
        "--sync/--no-sync",
        "is_sync",
        default=None,
        help="Wait for the quorum, or not.  [default: the setting of the space]",
    )
    token = click.option(
        "--token",
        metavar="T",
        help="Token of an earlier attempt: the write is applied at most once.",
    )
    return sync(token(_common(command)))


@click.command(
    epilog=examples("qsync get accounts 1", "# a key of two parts", "qsync get t '[1, \"a\"]'")
)
@_SPACE
@_KEY
@_reads
def get(
    *,
    space: str,
    key: object,
    target: list[str],
    timeout: float,
    index: str,
    consistency: "ReadConsistency",
) -> None:
    """Read the tuple at KEY; prints null when there is none."""
    with _connect(target, timeout) as db:
        row = db.space(space).get(key, index=_name(index), consistency=consistency)
    if style().as_json:
        document("get", space=space, key=key, row=row)
    else:
        value(row)


@click.command(epilog="Example: qsync select accounts 10 --iterator ge --limit 5")
@_SPACE
@click.argument("key", type=Json(), required=False)
@_iterator
@click.option(
    "--limit",
    type=click.IntRange(0),
    default=LIMIT,
    show_default=True,
    help="The maximum number of tuples.",
)
@click.option("--offset", type=click.IntRange(0), default=0, help="Skip this many tuples first.")
@click.option(
    "--after",
    type=JsonList('[1, "ann"]'),
    metavar="TUPLE",
    help="The last tuple of the previous page.",
)
@_reads
def select(
    *,
    space: str,
    key: object,
    iterator: str | None,
    limit: int,
    offset: int,
    after: list[object] | None,
    target: list[str],
    timeout: float,
    index: str,
    consistency: "ReadConsistency",
) -> None:
    """Read tuples in the order of an index, one JSON array per line."""
    with _connect(target, timeout) as db:
        rows = db.space(space).select(
            key,
            index=_name(index),
            iterator=iterator,
            limit=limit,
            offset=offset,
            after=after,
            consistency=consistency,
        )
    if style().as_json:
        document("select", space=space, rows=rows)
        return
    for row in rows:
        value(row)
    if len(rows) == limit:
        say(f"{limit} tuples; --limit and --after show more")


@click.command(epilog=examples("qsync count accounts", "qsync count accounts 10 --iterator ge"))
@_SPACE
@click.argument("key", type=Json(), required=False)
@_iterator
@_reads
def count(
    *,
    space: str,
    key: object,
    iterator: str | None,
    target: list[str],
    timeout: float,
    index: str,
    consistency: "ReadConsistency",
) -> None:
    """Count the tuples that a select without limit would return."""
    with _connect(target, timeout) as db:
        found = db.space(space).count(
            key, index=_name(index), iterator=iterator, consistency=consistency
        )
    if style().as_json:
        document("count", space=space, count=found)
    else:
        value(found)


@click.command(epilog="Example: qsync insert accounts '[1, \"ann\", 100]'")
@_SPACE
@_TUPLE
@_writes
def insert(
    *,
    space: str,
    row: list[object],
    **given: Unpack[_WriteOptions],
) -> None:
    """Insert TUPLE; fails if its key exists."""
    with _writing(space, **given) as rows:
        rows.insert(row)


@click.command(epilog="Example: qsync replace accounts '[1, \"ann\", 100]' --sync")
@_SPACE
@_TUPLE
@_writes
def replace(
    *,
    space: str,
    row: list[object],
    **given: Unpack[_WriteOptions],
) -> None:
    """Insert TUPLE, or replace the tuple that has its key."""
    with _writing(space, **given) as rows:
        rows.replace(row)


@click.command(epilog='Example: qsync update accounts 1 \'[["+", "balance", 10]]\'')
@_SPACE
@_KEY
@_CHANGES
@_writes
def update(
    *,
    space: str,
    key: object,
    changes: list[list[object]],
    **given: Unpack[_WriteOptions],
) -> None:
    """Change fields of the tuple at KEY; does nothing if there is none."""
    with _writing(space, **given) as rows:
        rows.update(key, changes)


@click.command(epilog="Example: qsync upsert hits '[\"/\", 1]' '[[\"+\", 2, 1]]'")
@_SPACE
@_TUPLE
@_CHANGES
@_writes
def upsert(
    *,
    space: str,
    row: list[object],
    changes: list[list[object]],
    **given: Unpack[_WriteOptions],
) -> None:
    """Insert TUPLE, or update the tuple that has its key."""
    with _writing(space, **given) as rows:
        rows.upsert(row, changes)


@click.command(epilog="Example: qsync delete accounts 1")
@_SPACE
@_KEY
@_writes
def delete(
    *,
    space: str,
    key: object,
    **given: Unpack[_WriteOptions],
) -> None:
    """Remove the tuple at KEY."""
    with _writing(space, **given) as rows:
        rows.delete(key)


@click.command(
    epilog=examples(
        "# exits with 0 if the write was applied, with 1 if it was not", "qsync resolve 5f0c...:7"
    )
)
@click.argument("token")
@_common
@click.pass_context
def resolve(ctx: click.Context, *, token: str, target: list[str], timeout: float) -> None:
    """Find the outcome of the write with TOKEN, which was unknown.

    The write is not repeated. If it was not applied, it is cancelled for good: its number is taken
    in the log, and no attempt that is still on its way can be applied later.
    """
    from qsync.client.numbering import parse_token  # noqa: PLC0415 - only needed here

    parse_token(token)
    with _connect(target, timeout) as db:
        try:
            with change_under_way(hint=AGAIN):
                receipt = db.resolve(token, again=False)
        except QsyncError as error:
            if error.outcome is not Outcome.ROLLED_BACK:
                raise
            _tell_undone(token, error)
            ctx.exit(int(Exit.FAILED))
    if style().as_json:
        place = {"term": receipt.term, "index": receipt.index, "lsn": receipt.lsn}
        document("outcome", token=token, outcome="committed", **place, row=receipt.row)
    else:
        _tell(receipt)


def _tell_undone(token: str, error: QsyncError) -> None:
    if style().as_json:
        why = {"code": error.code, "message": error.message}
        document("outcome", token=token, outcome=error.outcome.value, **why)
    else:
        say(f"not done, for certain: {error}")


@contextmanager
def _writing(
    space: str, *, target: list[str], timeout: float, is_sync: bool | None, token: str | None
) -> Iterator["TransactionSpace"]:
    """The space for one write, which is sent at the end of the block; then print its receipt."""
    with _connect(target, timeout) as db:
        tx = db.transaction(is_sync=is_sync, token=token)
        yield tx.space(space)
        _tell(committed(tx))


def _connect(target: list[str], timeout: float) -> "Client":
    """Connect with one deadline for all; a given --timeout also limits the search for nodes."""
    from qsync.client.blocking import CONNECT_TIMEOUT_S, connect  # noqa: PLC0415 - only needed here

    source = click.get_current_context().get_parameter_source("timeout")
    patience = timeout if source is ParameterSource.COMMANDLINE else CONNECT_TIMEOUT_S
    until = time.monotonic() + timeout
    db = connect(target, timeout=timeout, connect_timeout=min(timeout, patience))
    db.timeout = max(0.0, until - time.monotonic())
    return db


def _name(index: str) -> str | int:
    return int(index) if index.isdecimal() else index


def _tell(receipt: "Receipt") -> None:
    if style().as_json:
        document(
            "receipt",
            term=receipt.term,
            index=receipt.index,
            lsn=receipt.lsn,
            acks=receipt.acks,
            seconds=receipt.seconds,
            duplicate=receipt.duplicate,
            row=receipt.row,
        )
        return
    if receipt.row is not None:
        value(receipt.row)
    again = ", an earlier attempt had done it" if receipt.duplicate else ""
    acks = f"{how_many(receipt.acks, 'ack')}, {receipt.seconds * 1000:.1f} ms"
    say(f"committed: term {receipt.term}, index {receipt.index}, {acks}{again}")
