"""`qsync log`: the decoded log of a node, online or from its directory."""

import contextlib
import itertools
import time
from collections.abc import Iterator
from pathlib import Path

import click

from admin.cluster import log_diff, log_tail, logs
from admin.cluster.log_tail import TailCut
from cli import targets
from cli.ending import OUTPUTS, unread
from cli.exits import CheckFailed
from cli.options import json_option, timeout_option
from cli.output import document, say, style, text, value
from cli.render.entries import EntryLines
from qsync.client.one_node import NodeConnection
from qsync.directory_files import IDENTITY, is_node_directory
from qsync.errors import DirectoryLocked, StoreError
from qsync.record import Entry
from qsync.socket_files import FILE
from qsync.units import how_many

_SOURCE = click.argument("source", default=targets.default, metavar="[NODE|DIR]")


@click.group(epilog="Example: qsync log cat 127.0.0.1:3301 --from 100 --count 20")
def log() -> None:
    """Read or verify the log of one node.

    Entries hold the ids of spaces. For people they are shown with the names that the node has for
    them now, and by id where it has none, such as spaces that were dropped.

    NODE is an address (or a lab: its first node). DIR is the directory of a node: read directly
    while the node is stopped, asked through its socket while it runs.
    """


@log.command(epilog="Example: qsync log cat ./n1 --from 10 --json")
@_SOURCE
@click.option(
    "--from", "first", type=click.IntRange(1), default=1, show_default=True, help="First index."
)
@click.option("--to", "last", type=click.IntRange(1), help="Last index.")
@click.option("--count", type=click.IntRange(1), help="Maximum number of entries.")
@timeout_option("10s")
@json_option
def cat(*, source: str, first: int, last: int | None, count: int | None, timeout: float) -> None:
    """Print entries, one per line; with --json one JSON object per line."""
    with _open(source, timeout) as found:
        start = found.start()
        if first <= start.index:
            say(f"the log begins at {start.index + 1}: what is before it was trimmed")
        lines = _lines(found)
        for entry in itertools.islice(logs.entries(found, first, last), count):
            _print(entry, lines)


@log.command(epilog="Example: qsync log verify ./n1")
@_SOURCE
@timeout_option("60s")
@json_option
def verify(*, source: str, timeout: float) -> None:
    """Check the whole chain: checksums, dense indexes and lsns, terms, references."""
    with _open(source, timeout) as found:
        result = logs.verify(found)
    if style().as_json:
        document(
            "log.verify",
            whole=result.whole,
            entries=result.entries,
            begins=result.begins,
            last=result.last,
            term=result.term,
            crc=result.crc,
            problems=result.problems,
        )
    else:
        for problem in result.problems:
            text(problem)
        trimmed = f"; trimmed before {result.begins}" if result.begins > 1 else ""
        holds = "the chain is broken" if result.problems else "the chain holds"
        entries = "no entry yet"
        if result.last:
            entries = how_many(result.entries, "entry")
            entries += f" up to index {result.last}, term {result.term}"
        say(f"{holds}: {entries}{trimmed}")
    if result.problems:
        raise CheckFailed(f"{source}: {result.problems[0]}")


@log.command(epilog="Example: qsync log tail 127.0.0.1:3301 --follow")
@_SOURCE
@click.option(
    "--count", "-n", type=click.IntRange(0), default=10, show_default=True, help="How many entries."
)
@click.option("--follow", "-f", is_flag=True, help="Print new entries until Ctrl-C.")
@timeout_option("10s")
@json_option
def tail(*, source: str, count: int, follow: bool, timeout: float) -> None:
    """Print the last entries, one per line; with --follow also the new ones.

    An entry at the end of a log may still be rolled back, or cut by another leader. If entries that
    were printed are cut, that is printed, too.
    """
    with _open(source, timeout) as found:
        shown = log_tail.last_entries(found, count)
        lines = _lines(found)
        for entry in shown:
            _print(entry, lines)
        if not follow:
            return
        if not isinstance(found, logs.Online):
            raise click.UsageError("--follow wants a running node: this one does not write")
        for event in log_tail.follow(found, shown, sleep=_while_read):
            if not isinstance(event, TailCut):
                _print(event, lines)
            elif style().as_json:
                value({"cut_above": event.above})
            else:
                text(f"cut: what was shown above {event.above} is not in the log any more")


def _while_read(seconds: float) -> None:
    """Wait. Raises BrokenPipeError when the reader, such as `head`, has had enough."""
    time.sleep(seconds)
    if OUTPUTS[0] in unread():
        raise BrokenPipeError


@log.command(epilog="Example: qsync log diff ./n1 127.0.0.1:3302")
@click.argument("left", metavar="NODE|DIR")
@click.argument("right", metavar="NODE|DIR")
@click.option(
    "--count",
    type=click.IntRange(0),
    default=5,
    show_default=True,
    help="How many entries of each log to show.",
)
@timeout_option("60s")
@json_option
def diff(*, left: str, right: str, count: int, timeout: float) -> None:
    """Compare two logs: up to which index they are equal, and what each has after that.

    A log that is only longer is no error. Exits with 6 if both have entries of their own: one of
    them will be cut when it follows the leader.
    """
    with _open(left, timeout) as one, _open(right, timeout) as other:
        found = log_diff.difference(one, other)
        if style().as_json:
            document(
                "log.diff",
                common=found.common,
                last=[found.left, found.right],
                only=[found.only_left, found.only_right],
                same=found.same,
            )
        else:
            text(f"the same up to index {found.common}")
            for name, source, more in (
                (left, one, found.only_left),
                (right, other, found.only_right),
            ):
                text(f"{name}: {more} more" if more else f"{name}: nothing more")
                if more and count:
                    _show_some(source, found.common + 1, found.common + min(more, count))
    if found.only_left and found.only_right:
        raise CheckFailed(f"the logs part behind index {found.common}")


def _show_some(source: logs.OpenedLog, first: int, last: int) -> None:
    lines = _lines(source)
    for entry in logs.entries(source, first, last):
        text(f"  {lines.line(entry)}")


def _lines(source: logs.OpenedLog) -> EntryLines:
    """Entries for people, in the names that the spaces have now; JSON has their ids."""
    if style().as_json:
        return EntryLines({})
    try:
        names = source.space_names()
    except StoreError as error:
        say(f"spaces are shown by number, as the rows cannot be read: {error.message}")
        names = {}
    return EntryLines(names)


def _print(entry: Entry, lines: EntryLines) -> None:
    if style().as_json:
        value(logs.as_members(entry))
    else:
        text(lines.line(entry))


@contextlib.contextmanager
def _open(source: str, timeout: float) -> Iterator[logs.OpenedLog]:
    path = Path(source)
    if is_node_directory(path):
        try:
            with logs.stopped(path) as found:
                yield found
        except DirectoryLocked as error:
            if (path / FILE).is_socket():
                with _online(source, timeout) as there:
                    yield there
                return
            hint = "name the running node by its address instead, or stop it first"
            raise DirectoryLocked(error.message, hint=hint) from None
        return
    with _online(source, timeout) as there:
        yield there


@contextlib.contextmanager
def _online(source: str, timeout: float) -> Iterator[logs.OpenedLog]:
    try:
        address = targets.resolve(source)[0]
    except ValueError as error:
        raise click.UsageError(f"{error}; the directory of a node holds {IDENTITY}") from None
    with NodeConnection(address, timeout=timeout) as line:
        yield logs.Online(line)
