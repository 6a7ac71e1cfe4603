"""What all contestants did, set beside each other: medians, ratios, a table and JSON."""

import dataclasses
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.bench.peers.workloads import WORKLOADS, Measured, PeerWorkload


@dataclass(slots=True, kw_only=True)
class Contestant:
    """One of them, and all that was measured of it."""

    name: str
    version: str
    durable: bool
    notes: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    """What it could not do, and why."""
    runs: dict[str, list[Measured]] = field(default_factory=dict)
    """By the name of the workload."""
    failover_s: list[float] = field(default_factory=list)
    idle_mib: int | None = None
    full_mib: int | None = None
    restart_s: list[float] = field(default_factory=list)

    def median(self, workload: PeerWorkload, of: Callable[[Measured], float]) -> float | None:
        """Over all runs; None where there were none."""
        found = [of(run) for run in self.runs.get(workload.name, [])]
        return statistics.median(found) if found else None


@dataclass(slots=True, kw_only=True)
class Comparison:
    """A whole run. `conditions`: command, machine, load while it ran."""

    conditions: dict[str, str]
    seconds: float
    keys: int
    contestants: list[Contestant]
    missing: dict[str, str]
    """Who could not take part, and why."""

    def ratio(self, who: Contestant, to: str, workload: PeerWorkload) -> float | None:
        """How many times the operations of another; of a single client its latency, upside down."""
        other = next((each for each in self.contestants if each.name == to), None)
        if other is None:
            return None
        if workload.by_latency:
            own, theirs = other.median(workload, _p50), who.median(workload, _p50)
        else:
            own, theirs = who.median(workload, _rate), other.median(workload, _rate)
        return own / theirs if own and theirs else None

    def as_json(self) -> dict[str, object]:
        """Everything, with the medians and the ratios to each other."""
        found = dataclasses.asdict(self)
        found["ratios"] = {
            to.name: {
                who.name: {
                    workload.name: round(ratio, 3)
                    for workload in WORKLOADS
                    if (ratio := self.ratio(who, to.name, workload)) is not None
                }
                for who in self.contestants
                if who is not to
            }
            for to in self.contestants
        }
        return found

    def markdown(self, *, to: str) -> Iterator[str]:
        """Tables for people; ratios to one of them."""
        for name, value in self.conditions.items():
            yield f"* {name}: {value}"
        for each in self.contestants:
            yield f"* {each.name}: {each.version}" + "".join(f"; {note}" for note in each.notes)
            for what, why in each.refused.items():
                yield f"* {each.name}, {what}: {why}"
        for name, why in self.missing.items():
            yield f"* {name} took no part: {why}"
        for title, cell in (
            ("operations a second", lambda who, load: _number(who.median(load, _rate))),
            ("p50, ms", lambda who, load: _number(who.median(load, _p50))),
            ("p99, ms", lambda who, load: _number(who.median(load, _p99))),
            (f"times {to}", lambda who, load: _number(self.ratio(who, to, load))),
            (
                "CPU an operation, us: all nodes + client",
                lambda who, load: " + ".join(
                    _number(who.median(load, part)) for part in (_servers, _client)
                ),
            ),
        ):
            yield ""
            yield from self._table(title, cell)
        yield ""
        yield from self._once()

    def _table(self, title: str, cell: Callable[[Contestant, PeerWorkload], str]) -> Iterator[str]:
        yield f"| {title} | " + " | ".join(each.name for each in self.contestants) + " |"
        yield "|---" * (len(self.contestants) + 1) + "|"
        for workload in WORKLOADS:
            if any(each.runs.get(workload.name) for each in self.contestants):
                cells = [
                    cell(each, workload) if each.runs.get(workload.name) else "-"
                    for each in self.contestants
                ]
                yield f"| {workload.name} | " + " | ".join(cells) + " |"

    def _once(self) -> Iterator[str]:
        lines: list[tuple[str, Callable[[Contestant], str]]] = [
            ("failover, s: median (longest)", lambda who: _spread(who.failover_s)),
            ("memory of a node, idle, MiB", lambda who: _number(who.idle_mib)),
            (f"memory with {self.keys:,} keys, MiB", lambda who: _number(who.full_mib)),
            (f"restart with {self.keys:,} keys, s", lambda who: _spread(who.restart_s)),
        ]
        yield "| | " + " | ".join(each.name for each in self.contestants) + " |"
        yield "|---" * (len(self.contestants) + 1) + "|"
        for title, cell in lines:
            cells = [cell(each) for each in self.contestants]
            if set(cells) != {"-"}:
                yield f"| {title} | " + " | ".join(cells) + " |"


def _rate(run: Measured) -> float:
    return run.ops_per_second


def _p50(run: Measured) -> float:
    return run.p50_ms


def _p99(run: Measured) -> float:
    return run.p99_ms


def _servers(run: Measured) -> float:
    return run.servers_us


def _client(run: Measured) -> float:
    return run.client_us


_MANY = 100


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= _MANY else f"{value:.2f}"


def _spread(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} ({max(values):.2f})" if values else "-"
