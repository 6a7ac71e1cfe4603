"""Output: one JSON document or the requested data to stdout, all prose to stderr."""

import io
import json
import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from cli import valid_json
from cli.exits import exit_of
from cli.printable import printable
from qsync.errors import OutcomeUnknown, QsyncError, Unanswered, Unavailable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


_LOST = (
    "do the nodes run, and is the address right? `qsync lab ps` lists those of a lab,",
    "`qsync lab up` starts a cluster to try things on; a node that speaks TLS answers",
    "only targets of `qsyncs://` (`qsync help secure-a-cluster`)",
)
"""The hint where no node answers, in lines."""
_REPEATED = re.compile(r"\A\[Errno \d+\] ")
_WITH_TOKEN = frozenset({"insert", "replace", "update", "upsert", "delete"})
"""Commands that take a token."""
WIDTH_ELSEWHERE = 120
"""The width without a terminal."""


@dataclass(slots=True)
class Style:
    """How the user wants to be spoken to; set by the options that all commands share."""

    as_json: bool = False
    plain: bool = False
    documents: int = 0
    """Documents printed so far: one at most, so an error after the answer prints none."""
    changed: bool = False
    """Whether the command has changed something; an error of its output does not undo that."""


def style() -> Style:
    """The style of the running command."""
    found = click.get_current_context().find_root().ensure_object(Style)
    assert isinstance(found, Style)
    return found


def note_change() -> None:
    """Remember that the command has changed something, before it prints that."""
    style().changed = True


def document(schema: str, **members: object) -> None:
    """Print the one JSON document. Bytes become hex text."""
    style().documents += 1
    _print_document(schema, members)


def as_document(schema: str, members: Mapping[str, object]) -> str:
    """The document that `document` prints."""
    whole = {"schema": f"qsync/{schema}/1", **members}
    return valid_json.dumps(whole, _plain)


def _print_document(schema: str, members: Mapping[str, object]) -> None:
    click.echo(printable(as_document(schema, members)))


def value(data: object) -> None:
    """Print one value as JSON, on a line."""
    click.echo(printable(valid_json.dumps(data, _plain)))


def text(line: str) -> None:
    """Print asked-for text."""
    click.echo(printable(line))


def raw(line: str) -> None:
    """Print text as it is, for a program."""
    click.echo(line)


def names(schema: str, found: Iterable[str]) -> None:
    """Print asked-for names, one per line, or as a document."""
    if style().as_json:
        document(schema, names=list(found))
        return
    for each in found:
        text(each)


def content(schema: str, name: str, found: str) -> None:
    """Print the content of a file as it is, or as a document with its name."""
    if style().as_json:
        document(schema, name=name, text=found)
    else:
        click.echo(found, nl=False)


def foreseen(verb: str, node: str, would: Mapping[str, object], words: str) -> None:
    """Print what a change would do: its numbers as a document, or in words."""
    if style().as_json:
        document("dry-run", verb=verb, node=node, would=would)
    else:
        say(f"{verb} {node}: {words}")


def json_schema(schema: str, found: Mapping[str, object]) -> None:
    """Print a JSON Schema, for editors, or as a document."""
    if style().as_json:
        document(schema, json_schema=found)
    else:
        raw(json.dumps(found, indent=2))


def say(line: str) -> None:
    """Prose, beside the output."""
    click.echo(printable(line), err=True)


def show(renderable: "RenderableType") -> None:
    """Print a table or a picture."""
    console().print(renderable)


def console(*, stderr: bool = False) -> "Console":
    """The terminal; honours NO_COLOR and --plain. What its encoding lacks is shown as `?`."""
    from cli.render.screen import SafeConsole  # noqa: PLC0415 - slow to import, seldom needed

    stream = sys.stderr if stderr else sys.stdout
    if isinstance(stream, io.TextIOWrapper) and not stream.encoding.lower().startswith("utf"):
        stream.reconfigure(errors="replace")
    plain = style().plain
    colourless = True if plain else None
    # A name such as `:cat:` is shown as it is, and Rich need not load its table of pictures.
    return SafeConsole(stderr=stderr, no_color=colourless, highlight=False, emoji=False)


def complain(error: QsyncError, how: Style, args: Sequence[str] = ()) -> None:
    """Print an error; with --json as a document on stdout too, unless one was printed.

    `args`: the command line, to print the command that shows the outcome.
    """
    resolving, giving_up = _resolving(error, args), _giving_up(error, args)
    showing = _showing(error, args)
    try:
        _say_all(error, resolving or showing, giving_up)
    finally:  # stderr may be full, and the document is still wanted
        if how.as_json:
            complaint(error, how, resolve=resolving, give_up=giving_up, show=showing)


def _say_all(error: QsyncError, telling: str, giving_up: str) -> None:
    say(f"qsync: {error}")
    if telling:
        say(f"  its outcome: {telling}")
    if giving_up:
        say(f"  the same without doing it: {giving_up}")
    for place, why in _attempts(error):
        say(f"  {place}: {why}")
    if error.leader:
        say(f"  the leader is {error.leader}")
    if _no_node_answers(error):
        for line in _LOST:
            say(f"  {line}")


def complaint(error: QsyncError, how: Style, **commands: str) -> None:
    """The error as a document, unless one was printed. `commands`: what the user can run next."""
    if how.documents:
        return
    members: dict[str, object] = {
        "code": error.code,
        "message": error.message,
        "outcome": error.outcome.value,
        "retryable": error.retryable,
        "hint": " ".join(_LOST) if _no_node_answers(error) else error.hint,
        "leader": error.leader,
        "details": error.details,
        **{name: command for name, command in commands.items() if command},
        "exit": int(exit_of(error)),
    }
    _print_document("error", members)


def _no_node_answers(error: QsyncError) -> bool:
    """Return whether no node answered, and the error has no hint of its own."""
    away = isinstance(error, Unavailable) and not isinstance(error, Unanswered)
    return away and not error.hint and "nodes" in error.details


def _resolving(error: QsyncError, args: Sequence[str]) -> str:
    """The command that retries a write and shows its outcome."""
    if not isinstance(error, OutcomeUnknown) or not error.token or not _WITH_TOKEN & set(args[:1]):
        return ""
    verb, *rest = (each for each in args if not each.startswith("--token="))
    if "--token" in rest:
        at = rest.index("--token")
        del rest[at : at + 2]
    return shlex.join(["qsync", verb, "--token", error.token, *rest])


def _giving_up(error: QsyncError, args: Sequence[str]) -> str:
    """The command that shows the outcome of a write, and gives it up if it did not happen."""
    if not isinstance(error, OutcomeUnknown) or not error.token:
        return ""
    return shlex.join(["qsync", "resolve", error.token, *_where(args)])


def _showing(error: QsyncError, args: Sequence[str]) -> str:
    """The command that shows whether a change was made."""
    words = error.details.get("shown_by")
    if not isinstance(words, str):
        return ""
    return shlex.join(["qsync", *shlex.split(words), *_where(args)])


def _where(args: Sequence[str]) -> list[str]:
    """The target, as the command line names it."""
    where: list[str] = []
    for at, each in enumerate(args):
        if each.startswith("--target="):
            where = [each]
        elif each in {"--target", "-t"}:
            where = list(args[at : at + 2])
    return where


def _attempts(error: QsyncError) -> list[tuple[str, str]]:
    nodes = error.details.get("nodes")
    if not isinstance(nodes, dict):
        return []
    told = [(str(place), str(why)) for place, why in nodes.items() if str(why) not in error.message]
    return [(place, _REPEATED.sub("", why.rpartition(f"{place}: ")[2])) for place, why in told]


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return value.hex()
    return str(value)
