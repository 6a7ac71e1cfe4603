"""The tables of running nodes for Spark: each task fetches a range, as packed rows."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from admin.checker.spark.bounds import Bounds
from admin.checker.spark.credentials import environment_with
from admin.checker.spark.options import SPAN
from admin.evidence import live
from admin.evidence.arrow import batch, never_null
from admin.evidence.live import LivePoll, LiveRange
from admin.evidence.manifest import NoEvidence
from admin.evidence.sampling import Generations, SampleRecorder
from admin.evidence.witnesses import LogWasCut, Running

if TYPE_CHECKING:
    import pyarrow as pa

CUTS_MAX: Final = 10
TOLD = ("wal", "status", "digests")
"""The tables that nodes have; clients, simulators and drills record the others."""


@dataclass
class Pieces(InputPartition):
    """The part that one task fetches."""

    pieces: list[LiveRange]


class LiveReader(DataSourceReader):
    """The logs up to the durable index when the query is planned."""

    def __init__(
        self,
        table: str,
        addresses: Sequence[str],
        *,
        run_id: str,
        aligned: bool,
        span: int = SPAN,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        if table not in TOLD:
            raise NoEvidence(f"nodes tell of {', '.join(TOLD)}, not of {table}")
        self._table = table
        self._addresses = list(addresses)
        self._run_id = run_id
        self._aligned = aligned
        self._span = span
        self._variables = dict(variables or {})
        self._bounds = Bounds()

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:  # noqa: N802 - Spark's name
        """Leaves out nodes and entries; Spark still filters the rows."""
        return self._bounds.pushed(filters)

    def partitions(self) -> list[InputPartition]:
        """Return partitions by node and range; aligned, the same range of all nodes."""
        if self._table != "wal" or self._bounds.run_id not in {None, self._run_id}:
            return [Pieces([])]
        with environment_with(self._variables), closing(self._poll()) as poll:
            samples = poll.statuses()
            silent = dict(poll.silent)
        if silent:
            told = "; ".join(f"{address}: {why}" for address, why in silent.items())
            raise NoEvidence(f"not all nodes answer: {told}", hint="name only those that do")
        pieces = [
            LiveRange(
                address=address,
                node=sample.id,
                uuid=sample.uuid,
                generation=1,
                first=max(first, self._bounds.first),
                last=min(first + self._span - 1, sample.written, self._bounds.last),
            )
            for address, sample in samples.items()
            if self._bounds.node in {None, sample.id}
            for first in range(1, sample.written + 1, self._span)
        ]
        wanted = sorted(
            (each for each in pieces if each.first <= each.last),
            key=lambda each: ((each.first - 1) // self._span, each.node),
        )
        return list(self._together(wanted)) or [Pieces([])]

    def _together(self, wanted: list[LiveRange]) -> Iterator[Pieces]:
        if not self._aligned:
            yield from (Pieces([each]) for each in wanted)
            return
        ranges: dict[int, list[LiveRange]] = {}
        for each in wanted:
            ranges.setdefault((each.first - 1) // self._span, []).append(each)
        yield from map(Pieces, ranges.values())

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        """The rows, in batches."""
        assert isinstance(partition, Pieces)
        with environment_with(self._variables):
            if self._table == "wal":
                for piece in partition.pieces:
                    for found in whole(piece, self._run_id):
                        yield never_null(self._table, found)
            else:
                yield never_null(self._table, self._small())

    def _poll(self) -> LivePoll:
        return LivePoll(self._addresses, timeout=live.FETCH_S_MAX)

    def _small(self) -> "pa.RecordBatch":
        with closing(self._poll()) as poll:
            samples = poll.statuses()
            if self._table == "status":
                recorder = SampleRecorder(Generations())
                rows = [recorder.heard(each) for each in samples.values()]
            else:
                told = poll.each(lambda line: Running(line).digests(live.status_of(line).id))
                rows = [row for each in told.values() for row in each]
        return batch(self._table, [{"run_id": self._run_id, **row} for row in rows])


def whole(
    piece: LiveRange, run_id: str, *, timeout: float = live.FETCH_S_MAX
) -> "list[pa.RecordBatch]":
    """The whole part, from one log: if the log is cut meanwhile, it is fetched again."""
    for _ in range(CUTS_MAX):
        try:
            return list(live.batches(piece, run_id, timeout=timeout))
        except LogWasCut:
            continue
    raise NoEvidence(f"the log at {piece.address} is being cut again and again")
