"""`qsync dump`: evidence from nodes, running or stopped, into one folder for the checkers."""

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from admin.lab import lab
from admin.lab import names as lab_names
from cli import targets
from cli.examples import examples
from cli.exits import NoFile
from cli.options import DIRECTORY_PATH, Duration, json_option, timeout_option
from cli.output import document, say, style
from cli.render.bars import bars
from qsync.directory_files import IDENTITY, is_node_directory
from qsync.disk_errors import NO_ROOM
from qsync.errors import Unavailable
from qsync.units import how_many

if TYPE_CHECKING:
    from admin.evidence.bundle import Bundle
    from admin.evidence.collect import Sampling
    from admin.evidence.redacting import Redactor
    from admin.evidence.witnesses import EvidenceSource

_ROOM = "free some space, then the same command continues from there"
_MOMENT_S = 0.01
"""The shortest time between two samples."""
_BAR_ENTRIES_MIN = 10_000
"""Shorter logs are there before a bar could be read."""


@click.command(
    epilog=examples(
        "qsync dump lab --out evidence",
        "qsync dump ./n1 ./n2 ./n3 --out evidence",
        "qsync check --quick evidence",
    )
)
@click.argument("sources", nargs=-1, required=True, metavar="TARGET...")
@click.option(
    "--out",
    type=DIRECTORY_PATH,
    required=True,
    metavar="DIR",
    help="Directory of the bundle; an earlier dump in it is continued.",
)
@click.option(
    "--run",
    "run_id",
    default="",
    metavar="NAME",
    help="Name of the bundle. [default: name of the folder]",
)
@click.option(
    "--format",
    "kept",
    type=click.Choice(["jsonl", "parquet"]),
    default="jsonl",
    show_default=True,
    help="Format of the logs; parquet is smaller and faster, and needs pyarrow.",
)
@click.option(
    "--sample",
    "seconds",
    type=Duration(least=_MOMENT_S),
    help="First sample the status of the nodes for this long.",
)
@click.option(
    "--every",
    type=Duration(least=_MOMENT_S),
    default="200ms",
    show_default=True,
    help="With --sample: how often each is asked.",
)
@timeout_option("30s", "Time limit of each answer of a node.")
@click.option(
    "--redact",
    is_flag=True,
    help="Replace keys, values and names of spaces by digests.",
)
@json_option
def dump(
    *,
    sources: tuple[str, ...],
    out: Path,
    run_id: str,
    kept: str,
    seconds: float | None,
    every: float,
    timeout: float,
    redact: bool,
) -> None:
    """Collect logs, status and digests of nodes as a bundle of evidence.

    TARGET is an address, a lab, the directory of a stopped node, or ID=DIR, a copy of the log of
    the node with that id. For stopped nodes of a lab their directories are read. Name all members,
    or the checks that need a quorum are skipped.

    With --redact, TARGET may also be an existing bundle, such as that of a drill. It keeps its
    format, and the checks give the same verdicts.
    """
    from admin.evidence import parts  # noqa: PLC0415 - only here

    if kept == "parquet":
        parts.check_parquet()
    taking = _Taking(sources, run_id, kept, seconds, every, timeout)
    if not redact:
        _only_over_a_dump(out)
    with _goes_on(out):
        bundle, unnamed = _redacted(taking, out) if redact else _collected(taking, out)
    _tell(bundle, unnamed)


class _Taking(NamedTuple):
    """The parts that a dump must take."""

    sources: Sequence[str]
    run_id: str
    kept: str
    seconds: float | None
    every: float
    timeout: float


def _redacted(taking: _Taking, out: Path) -> "tuple[Bundle, Sequence[str]]":
    """The manifest of a bundle, or of nodes without other files."""
    from admin.evidence.bundle import Bundle, is_bundle  # noqa: PLC0415 - only here
    from admin.evidence.redacting import Redactor, redact  # noqa: PLC0415 - the same
    from admin.lab.new_directory import check_new  # noqa: PLC0415 - the same

    check_new(out, hint="name a new directory with --out")
    bundles = [each for each in map(Path, taking.sources) if is_bundle(each)]
    if bundles and len(taking.sources) > 1:
        raise click.UsageError("a bundle is redacted alone")
    if bundles and taking.kept == "parquet":
        raise click.UsageError("a bundle keeps the format of its files when it is redacted")
    if bundles:
        return redact(Bundle.open(bundles[0]), out), ()
    try:
        return _collected(taking, out, Redactor())
    except BaseException:  # it cannot be continued: the key is gone
        shutil.rmtree(out, ignore_errors=True)
        raise


def _collected(
    taking: _Taking, out: Path, redactor: "Redactor | None" = None
) -> "tuple[Bundle, Sequence[str]]":
    """From nodes. The second: voters without any data here."""
    from admin.evidence import collect, witnesses, writing  # noqa: PLC0415 - only here

    sources, seconds, every = taking.sources, taking.seconds, taking.every
    places = [place for source in sources for place in _places(source)]
    with (
        witnesses.witnesses(places, timeout=taking.timeout, tell=say) as found,
        bars(least=_BAR_ENTRIES_MIN) as progress,
    ):
        collection = collect.Dump(
            out,
            run_id=taking.run_id,
            writer=writing.EvidenceWriter(writing.PartFormat(taking.kept), redactor),
            progress=progress,
            sampling=None if seconds is None else _sampling(found, seconds, every),
            directories={
                id: place
                for source in sources
                if (known := _lab(source)) is not None
                for id, place in known.directories.items()
            },
        )
        bundle = collection.collect(found, source=collect.source_of(found))
    return bundle, collection.unnamed


def _tell(bundle: "Bundle", unnamed: Sequence[str]) -> None:
    manifest = bundle.manifest
    if unnamed:
        say(
            f"{bundle.path} lacks {', '.join(unnamed)}, of the same cluster: name all members (or "
            "the directories of those that do not run), or what needs a quorum cannot be judged"
        )
    for why in manifest.gaps.values():
        say(f"{bundle.path} is not whole: {why}")
    if manifest.left_out:
        say(f"{bundle.path}: {manifest.left_out}")
    if style().as_json:
        document(
            "dump",
            path=str(bundle.path),
            run=manifest.run_id,
            nodes=[{"name": each.name, "last": each.last} for each in manifest.nodes],
            unnamed=list(unnamed),
            gaps=manifest.gaps,
            left_out=manifest.left_out,
            rows=manifest.rows,
        )
    else:
        for each in manifest.nodes:
            if each.first > 1:
                say(f"{each.name}: the log begins at {each.first}, what is before it was trimmed")
        counted = ", ".join(f"{count} {name}" for name, count in manifest.rows.items())
        nodes = how_many(len(manifest.nodes), "node")
        say(f"{bundle.path}: {nodes}, rows: {counted}")


def _only_over_a_dump(out: Path) -> None:
    """A dump takes the place of a dump only.

    What a drill or the demo left is more than that, and would be half replaced.
    """
    from admin.evidence.bundle import DUMPS, is_bundle  # noqa: PLC0415 - only here
    from admin.evidence.manifest import UNFINISHED, Manifest, NoEvidence  # noqa: PLC0415 - the same
    from admin.lab.new_directory import check_new  # noqa: PLC0415 - the same

    if not is_bundle(out):
        hint = "name a new folder with --out, or that of a dump, which is brought up to date"
        check_new(out, hint=hint, ignored=frozenset({UNFINISHED}))
    elif (source := Manifest.load(out).source) not in DUMPS:
        raise NoEvidence(
            f"{out} holds evidence of another kind ({source}), which is left alone",
            hint="name another folder",
        )


@contextlib.contextmanager
def _goes_on(out: Path) -> Iterator[None]:
    """Say that a dump which ends early keeps what it has read."""
    from admin.evidence.bundle import is_bundle  # noqa: PLC0415 - only here

    try:
        yield
    except KeyboardInterrupt:
        if is_bundle(out):
            say(f"\n{out} keeps what was read; the same command continues from there")
        raise
    except Unavailable as error:
        if is_bundle(out):
            error.hint = (
                f"{out} keeps what was read, and the same command continues from there; of a node "
                "that does not run name the directory instead"
            )
        raise
    except BrokenPipeError:
        raise
    except OSError as error:
        place = Path(error.filename or out)
        hint = _ROOM if error.errno in NO_ROOM else "name a folder that can be written"
        if not ({place, *place.parents} & {out} or place in out.parents):
            hint = "run it as a user who may read that, such as the one of the node"
        raise NoFile(f"{place}: {error.strerror}", hint=hint) from error


def _sampling(found: "Sequence[EvidenceSource]", seconds: float, every: float) -> "Sampling":
    """The status of running nodes."""
    from admin.evidence.sampling import sample  # noqa: PLC0415 - only here
    from admin.evidence.witnesses import Running  # noqa: PLC0415 - the same

    addresses = [each.line.address for each in found if isinstance(each, Running)]
    if not addresses:
        raise click.UsageError("--sample watches nodes that run, and none was named")
    say(f"watching {how_many(len(addresses), 'node')} for {seconds:g} s")
    return lambda generations, first: sample(
        addresses, generations, first, seconds=seconds, period=every
    )


def _places(source: str) -> list[str]:
    number, is_copy, copy = source.partition("=")
    if is_copy and number.isdecimal():
        if not Path(copy).is_dir():
            raise click.UsageError(f"{source} is no copy of a log: there is no folder {copy}")
        return [source]
    path = Path(source)
    if is_node_directory(path) or _is_log(path):
        return [source]
    known = _lab(source)
    if known is not None:
        return [node.address if node.process else str(node.dir) for node in known.nodes]
    try:
        return targets.resolve(source)
    except ValueError as error:
        raise click.UsageError(f"{error}; a node's directory holds {IDENTITY}") from None


def _is_log(path: Path) -> bool:
    if not path.is_dir():
        return False
    from qsync.store.opening import is_log  # noqa: PLC0415 - LMDB is slow to import

    return is_log(path)


def _lab(source: str) -> lab.Lab | None:
    if Path(source).is_dir() and lab_names.exists(Path(source)):
        return targets.load_lab(Path(source).absolute())
    return targets.load_lab(lab_names.place(source)) if source in lab_names.known() else None
