"""Writes the pages of the drills: a description from the drill file, and the latest measures.

`python -m admin.drills.reference --from DIR` takes the runs below a directory, such as the one of
`make drills OUT=DIR`, into the pages, `--pictures DIR` draws them; without either it only rewrites
the pages.
"""

import argparse
import json
import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from admin.drills import gallery, preflight, reader, report
from admin.drills.measure import GAP_S
from admin.drills.model import Drill

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "reference" / "drills"
RESULTS = "measured.json"
BY_THE_LOAD = frozenset({"ack_before_durable", "quorum_minus_one"})
"""Mutants that the load alone catches.

For the others the seed is one with which the same load without the faults catches nothing; with
another seed the load alone may catch them.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredDrill:
    """The runs of a drill in one series with the same number of nodes. Times in seconds."""

    drill: str
    nodes: int
    date: str
    version: str
    runs: int
    passed: int
    rto_median: float
    rto_max: float
    gap_max: float


def collect(directory: Path) -> list[MeasuredDrill]:
    """Read the reports below a directory, by drill and number of nodes."""
    runs: dict[tuple[str, int], list[dict[str, object]]] = {}
    for path in sorted(directory.rglob(report.FILE)):
        found = report.load(path)
        nodes = found["nodes"]
        assert isinstance(nodes, list), path
        runs.setdefault((str(found["drill"]), len(nodes)), []).append(found)
    return [_together(*key, found) for key, found in sorted(runs.items())]


def summary(runs: Sequence[MeasuredDrill]) -> list[str]:
    """Return a line for each drill and number of nodes, with a head."""
    heads = (
        "drill",
        "nodes",
        "runs",
        "passed",
        "failed",
        "RTO, median",
        "RTO, longest",
        "longest gap",
    )
    rows: list[tuple[str, ...]] = [heads]
    for each in runs:
        times = (_rto(each.rto_median), _rto(each.rto_max), f"{each.gap_max:.3f} s")
        counts = (each.nodes, each.runs, each.passed, each.runs - each.passed)
        rows.append((each.drill, *map(str, counts), *times))
    widths = [max(len(row[at]) for row in rows) for at in range(len(heads))]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def read_results(pages: Path) -> list[MeasuredDrill]:
    """Read the latest measures."""
    path = pages / RESULTS
    if not path.exists():
        return []
    return [MeasuredDrill(**each) for each in json.loads(path.read_text("utf-8"))]


def merged(before: Iterable[MeasuredDrill], now: Iterable[MeasuredDrill]) -> list[MeasuredDrill]:
    """Return the later measures of each drill."""
    found = {(each.drill, each.nodes): each for each in (*before, *now)}
    return [found[key] for key in sorted(found)]


def pages_of(measured: Sequence[MeasuredDrill], have: Collection[str]) -> dict[str, str]:
    """Return the text of every page, by file name. `have`: the drills that have a picture."""
    made: dict[str, str] = {gallery.PAGE: gallery.gallery(have)}
    for name in reader.own_names():
        drill = reader.load(reader.find(name))
        made[f"{name}.md"] = page(
            drill,
            [each for each in measured if each.drill == name],
            picture=name in have,
        )
    return made


def catalogue() -> Iterable[str]:
    """Return a row for every drill: its title, and the mutant that it catches."""
    yield "| drill | what is done | catches the mutant |"
    yield "|---|---|---|"
    for name in reader.own_names():
        drill = reader.load(reader.find(name))
        mutant = f"`{drill.catches}`" if drill.catches else ""
        shown = f"({mutant})" if drill.catches in BY_THE_LOAD else mutant
        yield f"| [`{name}`](drills/{name}.md) | {drill.title} | {shown} |"


def page(drill: Drill, measured: Sequence[MeasuredDrill], *, picture: bool = False) -> str:
    """Return one page."""
    needs = f"Needs {', '.join(preflight.needs(drill))}. {_mutant(drill)}"
    here = "`python -m admin.drills.reference`"
    parts = [
        f"# {drill.name}",
        f"{drill.title}. {drill.hypothesis}",
        f"```\nqsync drill run {drill.name} --out ./run{_simulated(drill)}\n```",
        needs,
        "## Latest measures",
        _table(measured),
        *(["## A run", gallery.image(drill)] if picture else []),
        "## The file",
        f"```yaml\n{reader.find(drill.name).read_text('utf-8')}```",
        f"[Drills](../drills.md) explains its keywords. This page is written by {here}.",
    ]
    return "\n\n".join(parts) + "\n"


def write(pages: Path, measured: Sequence[MeasuredDrill]) -> None:
    """Write all pages, and their numbers."""
    pages.mkdir(parents=True, exist_ok=True)
    text = json.dumps([asdict(each) for each in measured], indent=1)
    (pages / RESULTS).write_text(text + "\n", "utf-8")
    for name, content in pages_of(measured, gallery.pictured(pages)).items():
        (pages / name).write_text(content, "utf-8")


def draw(pages: Path, runs: Path) -> None:
    """Draw a picture of each drill with a run below a directory."""
    (pages / gallery.FOLDER).mkdir(parents=True, exist_ok=True)
    for name, svg in gallery.pictures(runs).items():
        (pages / gallery.FOLDER / f"{name}.svg").write_text(svg, "utf-8")


def _together(drill: str, nodes: int, runs: Sequence[Mapping[str, object]]) -> MeasuredDrill:
    measures = [each["measures"] for each in runs]
    rto = [_seconds(each, "rto") for each in measures]
    newest = max(runs, key=lambda each: str(each["began_at"]))
    return MeasuredDrill(
        drill=drill,
        nodes=nodes,
        date=str(newest["began_at"])[:10],
        version=str(newest["version"]),
        runs=len(runs),
        passed=sum(each["verdict"] == "passed" for each in runs),
        rto_median=round(statistics.median(rto), 3),
        rto_max=round(max(rto), 3),
        gap_max=round(max(_seconds(each, "gap") for each in measures), 3),
    )


def _seconds(measures: object, name: str) -> float:
    assert isinstance(measures, dict), measures
    return float(measures[name] or 0.0)


def _simulated(drill: Drill) -> str:
    missing = preflight.not_simulated(drill)
    line = f"qsync drill run {drill.name} --simulate --repeat 100"
    return "" if missing else f"\n{line}"


def _mutant(drill: Drill) -> str:
    missing = preflight.not_simulated(drill)
    if missing:
        return f"The simulator has no {', '.join(missing)}, so it runs on real processes only."
    mutant = drill.catches
    if mutant is None:
        return "It catches no known mutant."
    how = "by its load" if mutant in BY_THE_LOAD else "by its faults"
    return f"`--simulate --mutant {mutant}` shows that it fails when that rule is broken, {how}."


def _table(measured: Sequence[MeasuredDrill]) -> str:
    if not measured:
        return "Not yet."
    rows = [
        "| nodes | runs | passed | RTO, median | RTO, longest | longest gap | date | version |",
        "|---|---|---|---|---|---|---|---|",
    ]
    rows += [
        f"| {each.nodes} | {each.runs} | {each.passed} | {_rto(each.rto_median)} "
        f"| {_rto(each.rto_max)} | {each.gap_max:.3f} s | {each.date} | {each.version} |"
        for each in measured
    ]
    return "\n".join(rows)


def _rto(seconds: float) -> str:
    """Return an RTO as text; a gap too short to count is below the limit, not zero."""
    return f"{seconds:.3f} s" if seconds else f"< {GAP_S:g} s"


def main() -> None:
    """Write the pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="runs", type=Path, help="a directory with runs below it")
    parser.add_argument("--pictures", type=Path, help="a directory with runs to draw")
    given = parser.parse_args()
    if given.pictures is not None:
        draw(PAGES, given.pictures)
    now = [] if given.runs is None else collect(given.runs)
    if given.runs is not None and not now:
        parser.error(f"there is no run below {given.runs}")
    write(PAGES, merged(read_results(PAGES), now))


if __name__ == "__main__":
    main()
