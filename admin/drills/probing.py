"""Answers the probes of a drill from what was seen last."""

import shlex
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from admin import cluster
from admin.cluster import Survey
from admin.drills.model import Condition
from admin.drills.watch import Watch
from admin.sample import NodeSample
from admin.tally import Tally

EXTERNAL_S_MAX = 10.0
"""A command that is asked as a probe has so long to end."""
RECENT = 500
"""So many of the latest writes count for `commit_p99`."""


@dataclass(slots=True)
class Probes:
    """`names`: the nodes that each target stands for. `since`: when the present step began."""

    watch: Watch
    tally: Tally
    names: Mapping[str, tuple[str, ...]]
    clients: int
    terms_before: frozenset[int] = frozenset()
    since: float = 0.0
    acked_then: int = 0

    def begin(self) -> None:
        """A step begins: what it waits for has to come after this moment."""
        self.since, self.acked_then = time.monotonic(), len(self.tally.acked)

    def true(self, condition: Condition) -> bool:
        """Does it hold now? A measure that cannot be had counts as neither above nor below."""
        if condition.above is None and condition.below is None:
            return self._truth(condition) is condition.holds
        measured = _MEASURED[condition.probe](self)
        if measured is None:
            return False
        above = condition.above is None or measured > condition.above
        return above and (condition.below is None or measured < condition.below)

    def _truth(self, condition: Condition) -> bool:
        if condition.probe == "external":
            return _ends_with_0(condition.run or "false")
        if condition.node is not None:
            nodes = [self._sample(name) for name in self.names[condition.node]]
            return all(_OF_NODES[condition.probe](self.watch.survey, node) for node in nodes)
        return _TRUE[condition.probe](self, condition)

    def _sample(self, name: str) -> NodeSample | None:
        return next((each for each in self.watch.survey.samples if each.name == name), None)

    def leader_exists(self, condition: Condition) -> bool:
        """Another than `other`, if that is named."""
        return any(each.leads for each in self._others(condition))

    def writable(self, condition: Condition) -> bool:
        """Another than `other`, if that is named."""
        return any(each.leads and not each.ro for each in self._others(condition))

    def healthy(self, _: Condition) -> bool:
        """As `qsync status` sees it."""
        return cluster.judge(self.watch.survey).health is cluster.Health.HEALTHY

    def acked_again(self, _: Condition) -> bool:
        """A write that began after the step did was acknowledged.

        Everything that was under way when the step began may still be answered, so one more
        than there are clients is wanted.
        """
        return len(self.tally.acked) > self.acked_then + self.clients

    def _others(self, condition: Condition) -> list[NodeSample]:
        left_out = self.names[condition.other] if condition.other else ()
        return [each for each in self.watch.survey.samples if each.name not in left_out]

    def commit_p99(self) -> float | None:
        """Of the latest writes."""
        recent = sorted(list(self.tally.latencies)[-RECENT:])
        return recent[int(len(recent) * 0.99)] if recent else None

    def limbo_len(self) -> float | None:
        """On the leader."""
        leader = self.watch.survey.leader
        return None if leader is None else float(leader.limbo.len)

    def limbo_age(self) -> float | None:
        """On the leader."""
        leader = self.watch.survey.leader
        return None if leader is None else leader.limbo.age

    def terms(self) -> float:
        """Not counting those from before the drill."""
        return float(len(self.watch.terms.keys() - self.terms_before))


def _ends_with_0(command: str) -> bool:
    try:
        done = subprocess.run(  # noqa: S603 - the drill's author chose it
            shlex.split(command), check=False, capture_output=True, timeout=EXTERNAL_S_MAX
        )
    except (OSError, subprocess.TimeoutExpired):
        return False  # a probe that cannot be asked is not satisfied
    return done.returncode == 0


def _caught_up(survey: Survey, node: NodeSample | None) -> bool:
    leader = survey.leader
    return node is not None and leader is not None and node.written >= leader.confirmed


_TRUE: Mapping[str, Callable[[Probes, Condition], bool]] = {
    "leader_exists": Probes.leader_exists,
    "writable": Probes.writable,
    "healthy": Probes.healthy,
    "acked_again": Probes.acked_again,
}
_OF_NODES: Mapping[str, Callable[[Survey, NodeSample | None], bool]] = {
    "answers": lambda _, node: node is not None,
    "leads": lambda _, node: node is not None and node.leads and not node.ro,
    "read_only": lambda _, node: node is not None and node.ro,
    "caught_up": _caught_up,
    "struck": lambda _, node: node is not None and any(each.struck for each in node.faults),
}
_MEASURED: Mapping[str, Callable[[Probes], float | None]] = {
    "nodes_reachable": lambda self: float(len(self.watch.survey.samples)),
    "terms": Probes.terms,
    "limbo_len": Probes.limbo_len,
    "limbo_age": Probes.limbo_age,
    "commit_p99": Probes.commit_p99,
    "write_gap": lambda self: self.tally.waiting(),
}
