"""The combinations of a run: state of the leadership, fault, and answer to a client."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise

from qsync.sim.history import RecordedLine
from qsync.sim.run import Run
from qsync.sim.trace import TraceColumns

_LEADER, _DEPOSED = "L", "l"
_NANOS = 1e9


class TracedNodes:
    """The state of the nodes, from the last line of the minutes."""

    def __init__(self) -> None:
        self._sights: dict[int, TraceColumns] = {}

    def saw(self, sight: TraceColumns) -> None:
        """Take one line of the minutes."""
        self._sights[sight.node] = sight

    @property
    def roles(self) -> str:
        """Count the roles: `l` leads a past term, `.` is down, `Z` is suspended."""
        counts = Counter(map(self._role, self._sights.values()))
        return "".join(f"{role}{count}" for role, count in sorted(counts.items()))

    @property
    def leading(self) -> str:
        """Describe the state of the leadership."""
        leaders = [each for each in self._sights.values() if each.role == _LEADER]
        if not leaders:
            return "nobody leads"
        if len(leaders) > 1:
            return f"{len(leaders)} lead"
        (leader,) = leaders
        if leader.term < self._term:
            return "one leads a term that is over"
        if leader.written < leader.last:
            return "the leader writes"
        return "the leader waits" if leader.confirmed < leader.last else "the leader rests"

    @property
    def _term(self) -> int:
        return max((each.term for each in self._sights.values()), default=0)

    def _role(self, sight: TraceColumns) -> str:
        deposed = sight.role == _LEADER and sight.term < self._term
        return _DEPOSED if deposed else sight.role


def reached(done: Run) -> frozenset[str]:
    """Return the combinations in words; the corpus decides which are rare."""
    found = {*_moments(done), *_counted(done)}
    kinds = list(done.report.strikes.values())
    found.update(f"{one}, then {other}" for one, other in pairwise(kinds))
    return frozenset(found)


def _moments(done: Run) -> Iterator[str]:
    """Return answers and faults, each with the state of the cluster."""
    stage = TracedNodes()
    told = _told(done.history)
    line = next(told, None)
    for now, sight, what in done.trace:
        while line is not None and line.time / _NANOS < now:
            yield f"{_answer(line)}, while {stage.leading}"
            line = next(told, None)
        if sight.node:
            stage.saw(sight)
            yield f"roles {stage.roles}"
        elif what.startswith("strike "):
            yield f"{what.partition(': ')[2]}, while {stage.leading}"


def _told(history: Iterable[RecordedLine]) -> Iterator[RecordedLine]:
    return (line for line in history if line.type != "invoke")


def _answer(line: RecordedLine) -> str:
    """Return a request with its outcome."""
    what = f"{line.consistency} {line.f}" if line.consistency else line.name
    return f"{what} {line.type}{f' {line.error}' if line.error else ''}"


def _counted(done: Run) -> Iterator[str]:
    counts = done.report.counts
    for name in ("terms led", "rolled back", "replaced", "messages lost"):
        if counts[name]:
            yield f"{name}: 2^{counts[name].bit_length() - 1}"
