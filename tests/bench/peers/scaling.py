"""Points of scale curves: what each contestant did at them, as medians, a table and JSON."""

import dataclasses
import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tests.bench.peers.workloads import Measured


class Axis(StrEnum):
    """What changes along a curve."""

    CLIENTS = "clients"
    NODES = "nodes"
    VALUE_BYTES = "value-bytes"
    KEYS = "keys"

    @property
    def caption(self) -> str:
        """For people."""
        return {"value-bytes": "bytes of a value"}.get(self.value, self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalePoint:
    """One run."""

    axis: Axis
    at: int
    who: str
    run: Measured


@dataclass(slots=True, kw_only=True)
class ScaleCurves:
    """All runs. `refused`: what one could not do, and why."""

    conditions: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    points: list[ScalePoint] = field(default_factory=list)
    refused: list[tuple[str, str, str]] = field(default_factory=list)

    def add(self, point: ScalePoint) -> None:
        """One more run."""
        self.points.append(point)

    def take(self, told: Mapping[str, Any]) -> None:
        """Those of another run too, as `as_json` gave them; its conditions under its command."""
        for each in told["points"]:
            run = Measured(**each["run"])
            self.add(ScalePoint(axis=Axis(each["axis"]), at=each["at"], who=each["who"], run=run))
        self.refused += [(who, what, why) for who, what, why in told["refused"]]
        self.versions = {**told["versions"], **self.versions}
        conditions = dict(told["conditions"])
        command = conditions.pop("command")
        self.conditions[f"also `{command}`"] = ", ".join(conditions.values())

    def refuse(self, who: str, what: str, why: str) -> None:
        """It could not be measured."""
        self.refused.append((who, what, why))

    @property
    def names(self) -> list[str]:
        """Who was measured, in order."""
        return list(dict.fromkeys(each.who for each in self.points))

    @property
    def axes(self) -> list[Axis]:
        """The curves that there are."""
        return [axis for axis in Axis if any(each.axis is axis for each in self.points)]

    def curve(
        self, axis: Axis, who: str, of: Callable[[Measured], float]
    ) -> list[tuple[int, float]]:
        """Medians along an axis, in order."""
        runs: dict[int, list[float]] = {}
        for each in self.points:
            if each.axis is axis and each.who == who:
                runs.setdefault(each.at, []).append(of(each.run))
        return [(at, statistics.median(found)) for at, found in sorted(runs.items())]

    def as_json(self) -> dict[str, object]:
        """Everything."""
        return dataclasses.asdict(self)

    def markdown(self) -> Iterator[str]:
        """Tables for people: operations a second, and p50."""
        for name, value in (self.conditions | self.versions).items():
            yield f"* {name}: {value}"
        for who, what, why in self.refused:
            yield f"* {who}, {what}: {why}"
        for axis in self.axes:
            rates = {who: dict(self.curve(axis, who, rate_of)) for who in self.names}
            waits = {who: dict(self.curve(axis, who, p50_of)) for who in self.names}
            yield ""
            yield f"| {axis.caption} | " + " | ".join(f"{who}/s (p50)" for who in self.names) + " |"
            yield "|---" * (len(self.names) + 1) + "|"
            for at in sorted({at for found in rates.values() for at in found}):
                cells = [
                    f"{rates[who][at]:,.0f} ({waits[who][at]:.2f} ms)" if at in rates[who] else "-"
                    for who in self.names
                ]
                yield f"| {at:,} | " + " | ".join(cells) + " |"


def rate_of(run: Measured) -> float:
    """Operations a second."""
    return run.ops_per_second


def p50_of(run: Measured) -> float:
    """Milliseconds."""
    return run.p50_ms
