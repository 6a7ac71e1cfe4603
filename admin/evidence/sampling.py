"""Samples the status of nodes over some time, as rows of `status`.

A node that was wiped is not the one that it was: generations count its directories.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import trio

from admin.cluster.sampler import Sampler
from admin.evidence import rows
from admin.evidence.manifest import NodeFacts
from admin.evidence.tables import Row
from qsync.status.record import NodeStatus


class Generations:
    """Numbers the directories of a node by their uuid, from 1, as they are met."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, str], int] = {}
        self._last: dict[int, int] = {}

    def restore(self, nodes: Iterable[NodeFacts]) -> None:
        """Restore the known directories, in place of those met since."""
        self._known = {(each.node, each.uuid): each.generation for each in nodes}
        self._last = {each.node: each.generation for each in nodes}

    def meet(self, node: int, uuid: str, generation: int) -> None:
        """Add a directory that was met before."""
        self._known[node, uuid] = generation
        self._last[node] = max(self._last.get(node, 0), generation)

    def of(self, facts: NodeFacts) -> int:
        """Return the generation of the directory that was met now."""
        return self.number(facts.node, facts.uuid)

    def number(self, node: int, uuid: str) -> int:
        """Return the generation by node and uuid."""
        found = self._known.get((node, uuid))
        if found is None:
            found = self._known[node, uuid] = self._last[node] = self._last.get(node, 0) + 1
        return found


PERIOD_S = 0.2
"""How often every node is asked."""

Clock = Callable[[], int]


class SampleRecorder:
    """Makes a row of every answer, with both clocks: the node's wall, and ours in ns."""

    def __init__(
        self,
        generations: Generations | None = None,
        *,
        first: int = 0,
        clock: Clock = time.monotonic_ns,
    ) -> None:
        self.rows: list[Row] = []
        self._generations = generations or Generations()
        self._number = first
        self._clock = clock

    def heard(self, sample: NodeStatus) -> Row:
        """Add one answer."""
        row = rows.status_row(
            sample,
            number=self._number,
            life=sample.pid,
            time_mono=self._clock(),
            generation=self._generations.number(sample.id, sample.uuid),
        )
        self._number += 1
        self.rows.append(row)
        return row


def sample(
    addresses: Sequence[str],
    generations: Generations,
    first: int,
    *,
    seconds: float,
    period: float = PERIOD_S,
) -> list[Row]:
    """Sample all nodes of a cluster for this time.

    One address is enough; no answer makes no row.
    """
    recorder = SampleRecorder(generations, first=first)
    trio.run(partial(_sample, addresses, recorder, seconds=seconds, period=period))
    return recorder.rows


async def _sample(
    addresses: Sequence[str], recorder: SampleRecorder, *, seconds: float, period: float
) -> None:
    def heard(sample: NodeStatus) -> None:
        recorder.heard(sample)

    with trio.move_on_after(seconds):
        await Sampler(addresses, period=period, heard=heard).run()
