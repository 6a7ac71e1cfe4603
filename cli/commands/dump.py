"""`qsync dump`: evidence from nodes, running or stopped, into one folder for the checkers."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from admin import lab
from cli import targets
from cli.options import json_option
from cli.output import console, document, say, style

_BAR_ENTRIES_MIN = 10_000
"""Shorter logs are there before a bar could be read."""


@click.command(
    epilog="Example: qsync dump lab --out evidence; "
    "qsync dump ./n1 ./n2 ./n3 --out evidence && qsync check --quick evidence"
)
@click.argument("sources", nargs=-1, required=True, metavar="TARGET...")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="DIR",
    help="The bundle; an interrupted or former dump there is continued.",
)
@click.option("--run", "run_id", default="", metavar="NAME", help="Its name; the folder's if none.")
@json_option
def dump(*, sources: tuple[str, ...], out: Path, run_id: str) -> None:
    """Collect logs, status and digests of nodes as a bundle of evidence.

    TARGET is an address, a running lab, or the directory of a stopped node or lab. Name all
    members, or the checks that need a quorum of them are skipped.
    """
    from admin.evidence import collect  # noqa: PLC0415 - only here

    places = [place for source in sources for place in _places(source)]
    with collect.witnesses(places) as found, _bar() as progress:
        running = any(isinstance(each, collect.Running) for each in found)
        source = "nodes" if running else "directories"
        bundle = collect.Dump(out, run_id=run_id, progress=progress).collect(found, source=source)
    manifest = bundle.manifest
    if style().as_json:
        document(
            "dump",
            path=str(out),
            run=manifest.run_id,
            nodes=[{"name": each.name, "last": each.last} for each in manifest.nodes],
            rows=manifest.rows,
        )
    else:
        counted = ", ".join(f"{count} {name}" for name, count in manifest.rows.items())
        say(f"{out}: {len(manifest.nodes)} nodes, rows: {counted}")


def _places(source: str) -> list[str]:
    path = Path(source)
    if (path / "identity.json").is_file():
        return [source]
    known = _lab(source)
    if known is not None and not any(node.process for node in known.nodes):
        return [str(node.dir) for node in known.nodes]
    try:
        return targets.resolve(source)
    except ValueError as error:
        raise click.UsageError(f"{error}; a node's directory holds identity.json") from None


def _lab(source: str) -> lab.Lab | None:
    if Path(source).is_dir() and lab.exists(Path(source)):
        return lab.load(Path(source).absolute())
    return lab.load(lab.place(source)) if source in lab.names() else None


@contextlib.contextmanager
def _bar() -> Iterator[Callable[[str, int, int], None]]:
    """A bar a node on stderr, where somebody looks."""
    screen = console(stderr=True)
    if style().as_json or not screen.is_terminal:
        yield _silent
        return
    from rich.progress import Progress  # noqa: PLC0415 - slow to import

    with Progress(console=screen, transient=True) as bars:
        tasks = {}

        def progress(name: str, done: int, all_: int) -> None:
            if all_ < _BAR_ENTRIES_MIN:
                return
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=all_)
            bars.update(tasks[name], completed=done, total=all_)

        yield progress


def _silent(_name: str, _done: int, _all: int) -> None:
    """Nobody looks."""
