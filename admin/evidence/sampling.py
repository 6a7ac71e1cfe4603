"""Samples of what nodes say of themselves, taken over some time, as rows of `status`."""

import time
from collections.abc import Callable, Sequence
from functools import partial

import trio

from admin.cluster.sampler import Sampler
from admin.evidence import rows
from admin.evidence.generations import Generations
from admin.evidence.tables import Row
from qsync.status.record import NodeStatus

PERIOD_S = 0.2
"""How often every node is asked."""

Clock = Callable[[], int]


class SampleRecorder:
    """Makes a row of every answer. Both clocks stand in it: the node's wall, and ours in ns."""

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
        """One answer."""
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
    """Ask all nodes of a cluster for so long. One address is enough; silence makes no rows."""
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
