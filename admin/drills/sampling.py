"""Samples every node continuously while a drill runs."""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import trio

from admin.cluster.sampler import Sampler
from admin.cluster.surveys import ClusterSurvey
from admin.workload.quantiles import quantile
from admin.workload.tally import WriteTally
from qsync.status.record import NodeStatus

PERIOD_S = 0.05
KEPT_S = 0.2
"""How often a full status is kept for the evidence, unless the role changes."""
FIRST_S_MAX = 20.0
RECENT = 500
"""How many of the latest writes count for `commit_p99`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeObservation:
    """One status of one node. `time` is monotonic, in seconds; `up` false: no answer."""

    time: float
    node: str
    up: bool
    role: str = ""
    term: int = 0
    ro: bool = True
    written: int = 0
    confirmed: int = 0
    limbo: int = 0
    sample: NodeStatus | None = None
    """Its full status, if kept: a few times a second, and when its role changed."""


class ThinnedSamples:
    """Reduces samples: all samples of a long drill would not fit into memory."""

    def __init__(self) -> None:
        self._last: dict[int, tuple[float, NodeStatus]] = {}

    def thin(self, sample: NodeStatus, now: float) -> NodeStatus | None:
        """Return the sample a few times a second and when its role changed; else None."""
        at, last = self._last.get(sample.id, (float("-inf"), sample))
        same = (sample.role, sample.term, sample.ro) == (last.role, last.term, last.ro)
        if same and sample.pid == last.pid and now - at < KEPT_S:
            return None
        self._last[sample.id] = now, sample
        return sample


class SamplingThread:
    """A thread that samples; `survey` is the latest round and is read without waiting."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self.observations: list[NodeObservation] = []
        self.survey = ClusterSurvey(samples=())
        self.crash: BaseException | None = None
        self._addresses = addresses
        self._thinned = ThinnedSamples()
        self._ready = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="drill watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait(FIRST_S_MAX)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def terms(self) -> dict[int, set[str]]:
        """The nodes that were seen as leaders, by term."""
        found: dict[int, set[str]] = {}
        for observed in list(self.observations):
            if observed.role == "leader":
                found.setdefault(observed.term, set()).add(observed.node)
        return found

    def _work(self) -> None:
        try:
            trio.run(self._sample)
        except BaseException as error:  # noqa: BLE001 - handed to the thread that judges
            self.crash = error
        finally:
            self._ready.set()

    async def _sample(self) -> None:
        sampler = Sampler(self._addresses, period=PERIOD_S)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(sampler.run)
            await sampler.first()
            while not self._stop.is_set():
                self._look(sampler)
                self._ready.set()
                await trio.sleep(PERIOD_S)
            nursery.cancel_scope.cancel()

    def _look(self, sampler: Sampler) -> None:
        survey = sampler.moment().survey
        now = time.monotonic()
        self.observations += [
            NodeObservation(
                time=now,
                node=each.name,
                up=True,
                role=each.role,
                term=each.term,
                ro=each.ro,
                written=each.written,
                confirmed=each.confirmed,
                limbo=each.synchro.queue.len,
                sample=self._thinned.thin(each, now),
            )
            for each in survey.samples
        ]
        self.observations += [
            NodeObservation(time=now, node=each.name, up=False) for each in survey.silent
        ]
        self.survey = survey


@dataclass(slots=True)
class LiveFacts:
    """The state of the cluster at a moment, for probes.

    `names`: the nodes of each target. `since`: the start of the current step, and the number of
    acknowledged writes then.
    """

    watch: SamplingThread
    tally: WriteTally
    names: Mapping[str, tuple[str, ...]]
    clients: int
    terms_before: frozenset[int] = frozenset()
    since: float = 0.0
    acked_then: int = 0

    def begin_step(self) -> None:
        """Begin a step: its awaited conditions must become true after this moment."""
        self.since, self.acked_then = time.monotonic(), len(self.tally.acked)

    def commit_p99(self) -> float | None:
        """The 99th percentile of the latest acknowledged writes, in seconds."""
        return quantile(sorted(list(self.tally.latencies)[-RECENT:]), 0.99)
