"""Answers the probes of a drill from what was seen last."""

import shlex
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from admin.cluster import surveys
from admin.cluster.surveys import ClusterSurvey
from admin.drills.model import Condition
from admin.drills.watch import SamplingThread
from admin.workload.tally import WriteTally
from qsync.status.record import NodeStatus

EXTERNAL_S_MAX = 10.0
"""A command that is asked as a probe has so long to end."""
RECENT = 500
"""So many of the latest writes count for `commit_p99`."""


@dataclass(slots=True)
class Probes:
    """`names`: the nodes that each target stands for. `since`: when the present step began."""

    watch: SamplingThread
    tally: WriteTally
    names: Mapping[str, tuple[str, ...]]
    clients: int
    terms_before: frozenset[int] = frozenset()
    since: float = 0.0
    acked_then: int = 0

    def begin_step(self) -> None:
        """A step begins: what it waits for has to come after this moment."""
        self.since, self.acked_then = time.monotonic(), len(self.tally.acked)

    def true(self, condition: Condition) -> bool:
        """Does it hold now? A measure that cannot be had counts as neither above nor below."""
        return self._holds(condition, self.watch.survey)

    def come_true(self, condition: Condition) -> bool:
        """Does it hold, whatever those say by now whose last word is older than the step?

        The last answer of a node that was killed since says nothing about the node that runs now.
        """
        survey = self.watch.survey
        words = tuple(each for each in survey.samples if each.asked >= self.since * 1e9)
        if words == survey.samples or condition.probe == "external":
            return self._holds(condition, survey)
        of_this_step = replace(survey, samples=words)
        return self._holds(condition, of_this_step) and self._holds(condition, survey)

    def _holds(self, condition: Condition, survey: ClusterSurvey) -> bool:
        if condition.above is None and condition.below is None:
            return self._truth(condition, survey) is condition.holds
        measured = _MEASURED[condition.probe](self, survey)
        if measured is None:
            return False
        above = condition.above is None or measured > condition.above
        return above and (condition.below is None or measured < condition.below)

    def _truth(self, condition: Condition, survey: ClusterSurvey) -> bool:
        if condition.probe == "external":
            return _ends_with_0(condition.run or "false")
        if condition.node is not None:
            of_node, names = _OF_NODES[condition.probe], self.names[condition.node]
            return all(of_node(survey, _sample(survey, name)) for name in names)
        return _TRUE[condition.probe](self, condition, survey)

    def leader_exists(self, condition: Condition, survey: ClusterSurvey) -> bool:
        """Another than `other`, if that is named."""
        return any(each.leads for each in self._others(condition, survey))

    def writable(self, condition: Condition, survey: ClusterSurvey) -> bool:
        """Another than `other`, if that is named."""
        return any(each.leads and not each.ro for each in self._others(condition, survey))

    def healthy(self, _: Condition, survey: ClusterSurvey) -> bool:
        """As `qsync status` sees it."""
        return surveys.judge(survey).health is surveys.ClusterHealth.HEALTHY

    def acked_again(self, _: Condition, __: ClusterSurvey) -> bool:
        """A write that began after the step did was acknowledged.

        Everything that was under way when the step began may still be answered, so one more
        than there are clients is wanted.
        """
        return len(self.tally.acked) > self.acked_then + self.clients

    def _others(self, condition: Condition, survey: ClusterSurvey) -> list[NodeStatus]:
        left_out = self.names[condition.other] if condition.other else ()
        return [each for each in survey.samples if each.name not in left_out]

    def commit_p99(self) -> float | None:
        """Of the latest writes."""
        recent = sorted(list(self.tally.latencies)[-RECENT:])
        return recent[int(len(recent) * 0.99)] if recent else None

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


def _sample(survey: ClusterSurvey, name: str) -> NodeStatus | None:
    return next((each for each in survey.samples if each.name == name), None)


def _caught_up(survey: ClusterSurvey, node: NodeStatus | None) -> bool:
    leader = survey.leader
    if node is None or leader is None or node.recruit:
        return False
    return node.written >= leader.confirmed


def _limbo_len(survey: ClusterSurvey) -> float | None:
    return None if survey.leader is None else float(survey.leader.synchro.queue.len)


def _limbo_age(survey: ClusterSurvey) -> float | None:
    return None if survey.leader is None else survey.leader.synchro.queue.age


_TRUE: Mapping[str, Callable[[Probes, Condition, ClusterSurvey], bool]] = {
    "leader_exists": Probes.leader_exists,
    "writable": Probes.writable,
    "healthy": Probes.healthy,
    "acked_again": Probes.acked_again,
}
_OF_NODES: Mapping[str, Callable[[ClusterSurvey, NodeStatus | None], bool]] = {
    "answers": lambda _, node: node is not None,
    "leads": lambda _, node: node is not None and node.leads and not node.ro,
    "read_only": lambda _, node: node is not None and node.ro,
    "caught_up": _caught_up,
    "struck": lambda _, node: node is not None and any(each.struck for each in node.faults),
}
_MEASURED: Mapping[str, Callable[[Probes, ClusterSurvey], float | None]] = {
    "nodes_reachable": lambda _, survey: float(len(survey.samples)),
    "terms": lambda probes, _: probes.terms(),
    "limbo_len": lambda _, survey: _limbo_len(survey),
    "limbo_age": lambda _, survey: _limbo_age(survey),
    "commit_p99": lambda probes, _: probes.commit_p99(),
    "write_gap": lambda probes, _: probes.tally.waiting(),
}
