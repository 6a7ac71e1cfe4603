"""`qsync audit`: who did what at a node, read and judged from its files."""

from collections import deque
from collections.abc import Iterator
from pathlib import Path

import click
from typing_extensions import override

from cli.examples import examples
from cli.exits import CheckFailed, NoFile
from cli.options import TargetOption, json_option
from cli.output import document, say, style, text, value
from cli.printable import one_line
from qsync import audit as trails
from qsync.audit import AuditHead
from qsync.errors import QsyncError
from qsync.units import how_many

_SOURCE = click.argument("source", metavar="FILE|DIR", type=click.Path(path_type=Path))
_SHOWN_FIRST = ("n", "time", "event", "user", "address", "before", "hash")


@click.group(
    epilog=examples(
        "qsync audit show ./n1 --user ann", "qsync audit verify ./n1 --ask 10.0.0.2:3301"
    )
)
def audit() -> None:
    """Read or verify the audit trail of a node: who did what, and when.

    DIR is the directory of a node, whether it runs or not; FILE is one file of its trail.
    """


class _Head(click.ParamType[AuditHead]):
    name = "NUMBER:HASH"

    @override
    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> AuditHead:
        try:
            return trails.parse_head(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


@audit.command(epilog="Example: qsync audit show ./n1 --user ann --count 20")
@_SOURCE
@click.option("--user", metavar="NAME", help="Only lines of this user, also as another.")
@click.option("--event", metavar="NAME", help="Only events of this name: login, denied, write, ...")
@click.option("--count", "-n", type=click.IntRange(1), help="Only the last lines, this many.")
@json_option
def show(*, source: Path, user: str | None, event: str | None, count: int | None) -> None:
    """Print lines of a trail, oldest first; with --json one JSON object per line.

    Reports each changed line beside the output and exits with 6; missing lines are found by `qsync
    audit verify`.
    """
    broken: list[str] = []
    kept: deque[dict[str, object]] = deque(maxlen=count)
    for place, line in _lines(source):
        try:
            said = trails.fields_of(line)
        except ValueError as error:
            broken.append(f"{place} {error}")
            say(broken[-1])
            continue
        is_named = event is None or event == said["event"]
        if is_named and (user is None or _is_about(said, user)):
            if count is None:
                _print(said)
            else:
                kept.append(said)
    for said in kept:
        _print(said)
    if broken:
        raise CheckFailed(f"{source}: {broken[0]}")


@audit.command(epilog="Example: qsync audit verify ./n1 --witness ./n2 --witness ./n3")
@_SOURCE
@click.option(
    "--head", "heads", type=_Head(), multiple=True,
    help="A head that was printed earlier: that line must still exist.",
)  # fmt: skip
@click.option(
    "--witness",
    "witnesses",
    multiple=True,
    metavar="FILE|DIR",
    type=click.Path(path_type=Path),
    help="The trail of another node: the heads that it keeps of this trail must exist.",
)
@click.option(
    "--ask", "asked", type=TargetOption(), metavar="TARGET",
    help="Compare with the heads that the nodes at TARGET keep.",
)  # fmt: skip
@json_option
def verify(
    *,
    source: Path,
    heads: tuple[AuditHead, ...],
    witnesses: tuple[Path, ...],
    asked: list[str] | None,
) -> None:
    """Check that no line was changed, removed, moved or inserted; exits with 6 otherwise.

    Each line holds the hash of the previous one. A trail that was cut at its end is consistent in
    itself: only a head that is kept elsewhere reveals the cut. The other nodes keep one about every
    minute (`audit.heads_interval`); --witness and --ask compare with theirs, --head with one that
    you kept yourself. Lines that a running node appends meanwhile are no fault.
    """
    told: list[AuditHead] = []
    if witnesses or asked:
        instance = _instance(source)
        for witness in witnesses:
            told += trails.heads_told(_lines(witness), instance)
        if asked:
            from admin.cluster import audit_heads  # noqa: PLC0415 - only here

            told += audit_heads.known(asked, instance)
    # First the heads, then the lines: a node writes on.
    unrotated = source.is_dir() and trails.is_unrotated(source)
    verdict = trails.verify(_lines(source), kept=[*told, *heads], unrotated=unrotated)
    end = str(verdict.head) if verdict.first else None
    if style().as_json:
        document(
            "audit.verify",
            whole=not verdict.faults,
            lines=verdict.lines,
            first=verdict.first,
            last=verdict.head.number,
            head=end,
            witnessed=len(told),
            faults=[{"place": each.place, "what": each.text} for each in verdict.faults],
        )
    else:
        for each in verdict.faults:
            text(f"{each.place}: {each.text}")
        older = "; older ones are not there" if verdict.first > 1 else ""
        say(f"{how_many(verdict.lines, 'line')}, {verdict.first} to {verdict.head.number}{older}")
        if witnesses or asked:
            say(f"other nodes keep {how_many(len(told), 'head')} of it")
        text(f"head {end or 'none'}")
    if verdict.faults:
        first = verdict.faults[0]
        raise CheckFailed(f"{source}: {first.place}: {first.text}")


def _instance(source: Path) -> str:
    """The instance of the node whose trail this is. Raises NoFile."""
    from admin.cluster.logs import identity_of  # noqa: PLC0415 - slow to import

    path = source if source.is_dir() else source.parent
    try:
        return identity_of(path).instance
    except QsyncError as error:
        raise NoFile(
            f"{path} does not say which node's trail this is: {error.message}",
            hint="name the directory of the node",
        ) from None


def _lines(source: Path) -> Iterator[tuple[str, str]]:
    """All lines with their places. Raises NoFile."""
    try:
        files = trails.files_of(source) if source.is_dir() else [source]
        if not files:
            raise NoFile(
                f"{source} holds no {trails.FILE}",
                hint="a node begins its trail with the first user of its cluster",
            )
        yield from trails.lines_of(files)
    except OSError as error:
        raise NoFile(f"{source}: {error.strerror}") from None


def _is_about(said: dict[str, object], user: str) -> bool:
    """Whether that user did it, perhaps acting as another; or one event of many that it counts."""
    if user in (said.get("user"), said.get("login")):
        return True
    counted = said.get("of")
    return isinstance(counted, list) and any(
        isinstance(each, dict) and _is_about(each, user) for each in counted
    )


def _print(said: dict[str, object]) -> None:
    if style().as_json:
        value(said)
        return
    who = f"{said.get('user') or '-'}@{said.get('address') or '-'}"
    rest = [f"{key}={one}" for key, one in said.items() if key not in _SHOWN_FIRST]
    line = f"{said['n']:>6} {said['time']} {said['event']:<12} {who} {' '.join(rest)}"
    text(one_line(line.rstrip()))
