"""The events of a run, reduced for drawing: leaders, faults, confirmed indexes, answers."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from admin.checker.operation import LOOKS
from admin.checker.report.scan import sampled, scan
from admin.checker.report.thin import CountSeries, ThinnedSeries
from admin.evidence.bundle import Bundle
from admin.evidence.tables import Row

NANOS = 1_000_000_000
BANDS_MAX = 1500
"""The limit for all nodes together; later leaders are not drawn, and the page says so."""
STARTS_MAX = 500
FAULTS_MAX = 500
ENTRIES_MAX = 5000
_LINKS = frozenset({"cut", "slow", "flap", "ring", "bridge"})
MENDS = {
    "start": frozenset({"kill"}),
    "resume": frozenset({"pause"}),
    "mend": _LINKS,
    "free": frozenset({"fill"}),
    "feed": frozenset({"starve"}),
    "heal": frozenset(),
}
"""Which command undoes which faults; `heal` undoes all. Other faults end by themselves."""
_AFTERWARDS = frozenset({"nodes", "directories"})
"""In bundles of these sources the status is from the time of the dump, not from the run."""


@dataclass(slots=True)
class Band:
    """A node led a term."""

    node: int
    term: int
    begun: float
    ended: float


@dataclass(slots=True)
class ReportedFault:
    """An injected fault; `begun` is None if its time is unknown."""

    text: str
    begun: float | None
    ended: float | None
    name: str = ""
    nodes: frozenset[str] = frozenset()


@dataclass(slots=True)
class Story:
    """Times are seconds since `origin`, in ns on the clock of the run; `walls`: wall clock."""

    nodes: dict[int, str]
    origin: int = 0
    length: float = 0.0
    walls: bool = False
    bands: list[Band] = field(default_factory=list)
    faults: list[ReportedFault] = field(default_factory=list)
    starts: list[tuple[int, float]] = field(default_factory=list)
    curves: dict[int, ThinnedSeries] = field(default_factory=dict)
    acks: CountSeries = field(default_factory=CountSeries)
    cut: bool = False

    def reached(self, index: int) -> float | None:
        """When the first node confirmed an index."""
        found = [at for each in self.curves.values() for at, value in each.points if value >= index]
        return min(found, default=None)

    def led(self, term: int) -> float | None:
        """When the first leader of a term appeared."""
        return min((each.begun for each in self.bands if each.term == term), default=None)

    def since(self, clock: int) -> float:
        """A time of the run's clock as seconds."""
        return (clock - self.origin) / NANOS


def tell(bundle: Bundle) -> Story:
    """One pass over each table. Only without other times it reads a sample of the logs."""
    nodes = {each.node: each.name or f"node {each.node}" for each in bundle.manifest.nodes}
    story = Story(nodes)
    times = [_first(bundle, table) for table in ("status", "nemesis", "ops")]
    known = [each for each in times if each is not None]
    timed = bool(known) and bundle.manifest.clock == "one"
    if timed and bundle.manifest.source not in _AFTERWARDS:
        story.origin = min(known)
        _statuses(story, scan(bundle, "status"))
        _ops(story, scan(bundle, "ops"))
    _faults(story, scan(bundle, "nemesis"), timed=timed)
    if not story.length and bundle.manifest.nodes:
        longest = max(bundle.manifest.nodes, key=lambda each: each.last)
        _log(story, sampled(bundle, longest.node, ENTRIES_MAX))
    return story


def _first(bundle: Bundle, table: str) -> int | None:
    name = "time" if table == "ops" else "time_mono"
    found = (row.get(name) for row in scan(bundle, table))
    return next((each for each in found if isinstance(each, int)), None)


def _statuses(story: Story, rows: Iterable[Row]) -> None:
    leading: dict[int, Band] = {}
    lives: dict[int, object] = {}
    for row in rows:
        node, clock = _int(row, "node"), _int(row, "time_mono")
        at = story.since(clock)
        story.length = max(story.length, at)
        story.nodes.setdefault(node, str(row.get("name") or f"node {node}"))
        if row.get("confirmed") is not None:
            story.curves.setdefault(node, ThinnedSeries()).add(at, _int(row, "confirmed"))
        life = (row.get("generation"), row.get("life"))
        if lives.setdefault(node, life) != life and len(story.starts) < STARTS_MAX:
            story.starts.append((node, at))
        band = leading.get(node)
        if band is not None and lives[node] == life:
            band.ended = max(band.ended, at)
        lives[node] = life
        if row.get("role") != "leader":
            leading.pop(node, None)
        elif band is None or band.term != _int(row, "term"):
            leading[node] = _led(story, Band(node, _int(row, "term"), at, at))


def _led(story: Story, band: Band) -> Band:
    if len(story.bands) < BANDS_MAX:
        story.bands.append(band)
    else:
        story.cut = True
    return band


def _ops(story: Story, rows: Iterable[Row]) -> None:
    for row in rows:
        at = story.since(_int(row, "time"))
        story.length = max(story.length, at)
        if row.get("type") == "ok" and str(row.get("f")) not in LOOKS and at >= 0:
            story.acks.add(at)


def _faults(story: Story, rows: Iterable[Row], *, timed: bool) -> None:
    """`value` may say more: the `text` for people, which `nodes`, and how many `seconds`."""
    still: list[ReportedFault] = []
    for row in rows:
        if len(story.faults) == FAULTS_MAX:
            story.cut = True
            break
        fault = _fault(story, row, timed=timed)
        story.length = max(story.length, fault.ended or 0.0)
        if fault.name in MENDS:
            mended = [each for each in still if _mends(fault, each)]
            still = [each for each in still if each not in mended]
            for each in mended:
                each.ended = fault.ended
            continue
        story.faults.append(fault)
        if timed and any(fault.name in lasting for lasting in MENDS.values()):
            still.append(fault)
    for fault in still:
        fault.ended = story.length


def _fault(story: Story, row: Row, *, timed: bool) -> ReportedFault:
    clock, value = row.get("time_mono"), row.get("value")
    more = value if isinstance(value, dict) else {}
    begun = story.since(clock) if isinstance(clock, int) and timed else None
    took, nodes = more.get("seconds"), more.get("nodes")
    ended = begun
    if begun is not None and isinstance(took, int | float):
        ended = begun + took
    named = frozenset(map(str, nodes)) if isinstance(nodes, list) else frozenset()
    return ReportedFault(str(more.get("text") or row["f"]), begun, ended, str(row["f"]), named)


def _mends(mending: ReportedFault, fault: ReportedFault) -> bool:
    if mending.name != "heal" and fault.name not in MENDS[mending.name]:
        return False
    return not mending.nodes or not fault.nodes or bool(mending.nodes & fault.nodes)


def _log(story: Story, rows: Iterable[Row]) -> None:
    """Add the log to a story by the times of its entries, on the wall clock of leaders."""
    origin: float | None = None
    leading: Band | None = None
    terms: dict[int, Band] = {}
    for row in rows:
        found = row.get("time")
        if not isinstance(found, int | float):
            continue
        story.walls, origin = True, found if origin is None else origin
        at = max(0.0, found - origin)
        story.length = max(story.length, at)
        node, term = _int(row, "node"), _int(row, "term")
        story.curves.setdefault(node, ThinnedSeries()).add(at, _int(row, "index"))
        leading = terms.get(term)
        if leading is None:
            terms[term] = _led(story, Band(_int(row, "origin"), term, at, at))
        else:
            leading.ended = max(leading.ended, at)
    # A log does not show how long an idle leader led: assume until the next one.
    for band, after in pairwise([*terms.values(), None]):
        if band is not None:
            band.ended = story.length if after is None else max(band.ended, after.begun)


def _int(row: Row, name: str) -> int:
    found = row.get(name)
    return found if isinstance(found, int) else 0
