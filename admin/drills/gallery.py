"""A page with a picture of every drill, from real runs, grouped by the kind of fault."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from admin.drills import drawing, kinds, reader, report
from admin.drills.comparison import RunSeries
from admin.drills.model import Drill

FOLDER, PAGE = "pictures", "gallery.md"
PICTURE_BYTES_MAX = 64 * 1024
"""The size limit of a picture: a page has about forty."""

_ABOUT = (
    "A run of every drill, each on three nodes that were processes of one machine, drawn as in its "
    "report. Orange shows the faults of the drill and their duration. A bar in the row of a node "
    "is the time in which it led and accepted writes, coloured by term. Green means acknowledged "
    "writes, red means none for 0.1 s or more. Below is the latency of writes, logarithmic. The "
    "machine was busy with other work: compare only the shapes here; the page of each drill has "
    "the numbers."
)


def pictures(directory: Path) -> dict[str, str]:
    """Return a drawing of each drill with a run below a directory: fewest nodes, median RTO."""
    runs: dict[str, list[dict[str, object]]] = {}
    for path in sorted(directory.rglob(report.FILE)):
        found = report.load(path)
        runs.setdefault(str(found["drill"]), []).append(found)
    made: dict[str, str] = {}
    for name, found_of in runs.items():
        fewest = min(_nodes(each) for each in found_of)
        series = RunSeries(tuple(each for each in found_of if _nodes(each) == fewest))
        svg = drawing.standalone(series.middle)
        assert len(svg) <= PICTURE_BYTES_MAX, (name, len(svg))
        made[name] = svg
    return made


def pictured(pages: Path) -> frozenset[str]:
    """Return the drills that have a picture there."""
    return frozenset(path.stem for path in (pages / FOLDER).glob("*.svg"))


def image(drill: Drill) -> str:
    """Return the picture for a page next to the folder of all pictures."""
    return f"![{drill.title}: a run on real processes]({FOLDER}/{drill.name}.svg)"


def gallery(have: Collection[str]) -> str:
    """Return the page."""
    parts = ["# All drills at a glance", _ABOUT]
    drills_of_ours = [reader.load(reader.find(name)) for name in reader.own_names()]
    for kind, drills in kinds.by_kind(drills_of_ours).items():
        parts.append(f"## {kind.capitalize()}")
        parts += [text for drill in drills for text in _entry(drill, have)]
    return (
        "\n\n".join([*parts, "This page is written by `python -m admin.drills.reference`."]) + "\n"
    )


def _entry(drill: Drill, have: Collection[str]) -> Iterator[str]:
    yield f"### [{drill.name}]({drill.name}.md)"
    yield f"{drill.title}. {drill.hypothesis}"
    yield image(drill) if drill.name in have else "No picture yet."


def _nodes(found: Mapping[str, object]) -> int:
    nodes = found["nodes"]
    assert isinstance(nodes, list), nodes
    return len(nodes)
