"""The verdict on transactions that append to lists: which anomalies, and what they break."""

from collections.abc import Iterable, Mapping

from admin.checker.elle.anomalies import Anomaly, anomalies_of_reads
from admin.checker.elle.appends import Appends, dependencies, understood
from admin.checker.elle.cycles import Cycle, cycles
from admin.checker.elle.graph import Graph
from admin.checker.elle.levels import PROHIBITED, Level
from admin.checker.operation import Operation
from admin.checker.verdict import Result, Verdict, Violation, conclude


def check_appends(
    operations: Iterable[Operation], *, level: str = Level.STRICT_SERIALIZABLE
) -> Verdict:
    """Whether a history shows nothing that the level prohibits.

    A pass says that no anomaly was found in what the reads tell; what nobody read proves nothing.
    """
    known = list(operations)
    appends = understood(known)
    if appends.twice:
        key, value = appends.twice[0]
        return Verdict(
            invariant=level,
            result=Result.UNKNOWN,
            facts=len(appends.committed),
            note=f"key {key!r}: {value!r} was appended twice, so reads do not tell who wrote it",
        )
    prohibited = PROHIBITED[Level(level)]
    violations = [
        Violation(
            invariant=level,
            message=f"{each.name}: {each.message}",
            witness=tuple(appends.transactions[at].operation for at in each.transactions),
        )
        for each in _found(appends)
        if each.name in prohibited
    ]
    return conclude(level, facts=len(appends.committed), violations=violations)


def anomalies(operations: Iterable[Operation]) -> Mapping[str, tuple[Anomaly, ...]]:
    """Every anomaly by its name, whatever promise it breaks."""
    found: dict[str, tuple[Anomaly, ...]] = {}
    for each in _found(understood(list(operations))):
        found[each.name] = (*found.get(each.name, ()), each)
    return found


def _found(appends: Appends) -> list[Anomaly]:
    graph = dependencies(appends)
    return [*anomalies_of_reads(appends), *(_told(each, graph) for each in cycles(graph))]


def _told(cycle: Cycle, graph: Graph) -> Anomaly:
    """A cycle in words: numbers are places in the history, from 1."""
    walk, said = cycle.walk, ""
    whys: list[str] = []
    for at, arrow in enumerate(cycle.arrows):
        start, end = walk[at], walk[(at + 1) % len(walk)]
        said += f"T{start + 1} -{arrow.word}-> "
        whys.append(f"T{end + 1} {graph.why[start, end, int(arrow)]}")
    message = f"{said}T{walk[0] + 1} ({'; '.join(whys)})"
    return Anomaly(name=cycle.name, message=message, transactions=walk)
