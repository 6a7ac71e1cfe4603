"""Backslash commands for inspection: all nodes, the limbo, the outcome of a transaction."""

from collections.abc import Mapping
from typing import Final

from admin.box.shapes import Shape
from cli.exits import retry_of
from cli.shell.formats import OutputStyle, render
from cli.shell.shell_commands import CommandMisused
from cli.shell.state import ShellCore
from qsync import units
from qsync.errors import ConfigError, QsyncError

_MILLI: Final = 1000.0


async def status(shell: ShellCore, _rest: str) -> None:
    """Show all nodes in a table, and whether it can commit. Also what would break it."""
    import io  # noqa: PLC0415 - only for this picture

    from rich.console import Console  # noqa: PLC0415 - slow to import

    from admin.cluster import surveys  # noqa: PLC0415 - only for this picture
    from cli.render.status import status as picture  # noqa: PLC0415 - the same

    found = await shell.box.place.survey()
    screen = Console(file=io.StringIO(), width=shell.width, force_terminal=False, highlight=False)
    screen.print(picture(found, surveys.judge(found), width=shell.width, plain=True))
    assert isinstance(screen.file, io.StringIO)
    shell.voices.result(screen.file.getvalue().rstrip())


async def limbo(shell: ShellCore, _rest: str) -> None:
    """Show pending writes, since when, and for which acks."""
    answer = await shell.box.why.waiting()
    _tell(shell, answer.sentence, answer.facts, answer.next)


async def why(shell: ShellCore, _rest: str) -> None:
    """Explain why it is read-only, and what promote would do. Also why something waits."""
    box = shell.box
    for answer in (await box.why.read_only(), await box.why.waiting(), await box.why.would()):
        _tell(shell, answer.sentence, answer.facts, answer.next)


async def spaces(shell: ShellCore, _rest: str) -> None:
    """List the spaces."""
    shell.verbs.data.forget(shell.box)
    rows = [
        {
            "id": each.id,
            "space": each.name,
            "sync": each.is_sync,
            "fields": ", ".join(f"{field['name']} {field['type']}" for field in each.format),
            "indexes": ", ".join(index.name for index in each.indexes),
        }
        for each in (await shell.verbs.data.shapes(shell.box)).values()
        if not each.system
    ]
    _table(shell, rows, "there are no spaces yet: box.schema.create_space(name)")


async def definition(shell: ShellCore, rest: str) -> None:
    """Show how a space is defined. Field by field and index by index."""
    if not rest:
        raise CommandMisused("which space?")
    shape = (await shell.box.space(rest)).shape
    sync = "synchronous" if shape.is_sync else "asynchronous"
    shell.voices.result(f"space {shape.name}, id {shape.id}, {sync}")
    _table(shell, [dict(each) for each in shape.format], "  it has no format")
    indexes = [
        {
            "index": each.name,
            "unique": each.unique,
            "parts": ", ".join(
                f"{_field(shape, part['field'])} {part['type']}" for part in each.parts
            ),
        }
        for each in shape.indexes
    ]
    _table(shell, indexes, "  it has no index yet")


def _field(shape: Shape, place: object) -> object:
    """A field by name, where it has one; else its number."""
    named = isinstance(place, int) and 0 < place <= len(shape.format)
    return shape.format[int(str(place)) - 1]["name"] if named else place


async def transaction(shell: ShellCore, _rest: str) -> None:
    """Say what is open, and what became of the last write."""
    txn, last = shell.box.txn, shell.box.last
    if txn is not None:
        shell.voices.result(f"open, operations so far: {txn.size}; box.commit() or box.rollback()")
    if shell.box.unknown is not None:
        unknown = f"unknown: the write of token {shell.box.unknown}"
        shell.voices.result(f"{unknown}; \\retry asks again, \\resolve without doing it")
    if last is None:
        shell.voices.result("nothing was written yet")
        return
    shell.voices.result(
        f"the last write: term {last.term}, index {last.index}, lsn {last.lsn}, "
        f"{units.how_many(last.acks, 'ack')}, {last.seconds * _MILLI:.1f} ms"
    )


async def trace(shell: ShellCore, rest: str) -> None:
    """Show the last write's way over all nodes, or an entry's.

    It is made, durable, acked, confirmed. Times are those of each node's own clock. They are kept
    while an interactive shell is open.
    """
    last = shell.box.last
    if rest and not rest.isdigit():
        raise CommandMisused(f"{rest!r} is not an index of the log")
    if not rest and last is None:
        shell.voices.result("nothing was written yet; \\trace INDEX shows any entry of the log")
        return
    index = int(rest) if rest else last.index if last is not None else 0
    traces: dict[str, Mapping[str, object]] = {}
    for name, address in shell.box.members.items():
        try:
            traces[name] = await shell.box.place.traced(address, index)
        except QsyncError as error:
            shell.voices.result(f"{name}: {error.message}")
    for line in _story(traces, index):
        shell.voices.result(line)


def _story(traces: Mapping[str, Mapping[str, object]], index: int) -> list[str]:
    """Return what the nodes know of an entry, by time."""
    entries = [each["entry"] for each in traces.values() if isinstance(each.get("entry"), dict)]
    if not entries:
        return [f"no node that answers has entry {index}"]
    entry = entries[0]
    assert isinstance(entry, dict)
    made = float(entry["made"])
    of = f"{entry['kind']} of term {entry['term']}, lsn {entry['lsn']} of node {entry['origin']}"
    lines = [f"entry {index}: {of}, {entry['bytes']} bytes"]
    events: list[tuple[float, str]] = [(made, "made by the leader")]
    names = {each.get("node"): name for name, each in traces.items()}
    for name, each in traces.items():
        marks = each["marks"]
        for what, who, at in marks if isinstance(marks, list) else []:
            whose = f" by {names.get(who, who)}" if who else ""
            events.append((float(at), f"{name}: {what}{whose}"))
    lines += [f"  {(at - made) * _MILLI:+9.3f} ms  {what}" for at, what in sorted(events)]
    outcomes = ", ".join(f"{name} {each['fate']}" for name, each in traces.items())
    lines.append(f"now: {outcomes}")
    if len({each["crc"] for each in entries if isinstance(each, dict)}) > 1:
        lines.append("the nodes do not have the same entry there: their logs differ")
    if not any(each["marks"] for each in traces.values()):
        lines.append("no times were kept for it; they are from now on")
    return lines


async def explain(shell: ShellCore, rest: str) -> None:
    """Explain the last error, or an error code. What happened to the data, and what to do."""
    from cli import explanations  # noqa: PLC0415 - it loads whatever defines errors

    error = shell.failed
    if rest:
        try:
            found = explanations.explain(rest)
        except ConfigError as unknown:
            raise CommandMisused(f"{unknown.message}: {unknown.hint}") from None
        shell.voices.result("\n".join(found.lines()))
        return
    if error is None:
        shell.voices.result("nothing went wrong yet")
        return
    shell.tell(f"{error.code}: {error.message}")
    shell.tell(f"outcome: {error.outcome.value}; retry: {retry_of(type(error))}", "  ")
    if error.hint:
        shell.tell(error.hint, "  ")
    facts = error.details.get("why")
    if isinstance(facts, dict):
        _tell(shell, str(facts["sentence"]), facts["facts"], facts["next"])


async def everywhere(shell: ShellCore, rest: str) -> None:
    """Run a chunk for every node, results side by side."""
    if not rest:
        raise CommandMisused("what is to be run?")
    for name in shell.box.members:
        await _at(shell, name, rest)


async def on_node(shell: ShellCore, rest: str) -> None:
    """Run a chunk as if this were another node."""
    name, _, source = rest.partition(" ")
    if not source:
        raise CommandMisused("a node and what is to be run there")
    await _at(shell, name, source)


async def _at(shell: ShellCore, name: str, source: str) -> None:
    try:
        values = await shell.run_at(name, source)
    except QsyncError as error:
        shell.voices.result(f"{name}: {error}")
        return
    lines = list(shell.lines(values))
    beside = len(lines) == 1
    shell.voices.result(f"{name}: {lines[0]}" if beside else f"{name}:")
    for line in [] if beside else lines:
        shell.voices.result(line)


async def repeat(shell: ShellCore, rest: str) -> None:
    """Run a chunk again and again, such as every `2s`. Until Ctrl-C."""
    period, _, source = rest.partition(" ")
    try:
        seconds = units.duration(period)
    except ValueError as error:
        raise CommandMisused(f"{period!r} {error}") from None
    if not source:
        raise CommandMisused("what is to be run?")
    while True:
        await shell.show(source)
        await shell.pause(seconds)


def _table(shell: ShellCore, rows: list[dict[str, object]], nothing: str) -> None:
    from cli.shell.formats import OutputFormat  # noqa: PLC0415 - beside its use

    if not rows:
        shell.voices.result(nothing)
        return
    *lines, _count = render([rows], OutputStyle(OutputFormat.TABLE, people=True))
    shell.voices.result("\n".join(lines))


def _tell(shell: ShellCore, sentence: str, facts: object, steps: object) -> None:
    shell.tell(sentence)
    for fact in facts if isinstance(facts, list | tuple) else ():
        shell.tell(str(fact), "  ")
    for step in steps if isinstance(steps, list | tuple) else ():
        shell.tell(f"-> {step}", "  ")
