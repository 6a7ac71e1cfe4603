"""Running nodes as streams for Spark: their statuses, and their confirmed entries.

The log stream has confirmed entries only: they are never cut, so a later read returns the same log.
The checksum shows whether a node still has the entry that was read last: a node that lost confirmed
entries is read again from shortly before, and the reader sees the difference.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from pyspark.sql.datasource import (
    DataSourceStreamReader,
    InputPartition,
    SimpleDataSourceStreamReader,
)

from admin.checker.spark.credentials import environment_with
from admin.checker.spark.source_live import Pieces, whole
from admin.evidence import live
from admin.evidence.arrow import batch, never_null
from admin.evidence.live import LivePoll, LiveRange
from admin.evidence.sampling import Generations, SampleRecorder
from admin.evidence.witnesses import IDS
from election.messages import Index
from qsync.client.one_node import NodeConnection
from qsync.errors import QsyncError
from qsync.status.record import NodeStatus
from qsync.wire import packed
from qsync.wire.verbs import PackedRequest

if TYPE_CHECKING:
    import pyarrow as pa

REACH: Final = 8192
"""How far back a node is read that is new, was wiped, or lost its entries."""
TRIGGER_ENTRIES_MAX: Final = 262_144
"""The limit per node and micro-batch; the next one continues there."""
FETCH_S_MAX: Final = 3.0
"""The time limit for an answer of a followed node: nothing else is checked meanwhile."""
Offset: TypeAlias = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOffset:
    """How far a node was read. The micro-batch that ends here reads `after..index`."""

    address: str
    node: int
    uuid: str
    generation: int
    after: int
    index: int
    crc: int

    @classmethod
    def read(cls, found: object) -> "StreamOffset":
        """From a member of an offset."""
        assert isinstance(found, Mapping)
        return cls(**found)


@dataclass(frozen=True, slots=True)
class NodePosition:
    """The answer of a node when a micro-batch is planned: its last entry, and the earlier one."""

    sample: NodeStatus
    reach: int
    crc: int
    before: int
    durable: int


class WalStream(DataSourceStreamReader):
    """Offsets: a Place by node."""

    def __init__(
        self,
        addresses: Sequence[str],
        *,
        run_id: str,
        begin: int,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self._poll = LivePoll(addresses)
        self._variables = dict(variables or {})
        self._run_id = run_id
        self._begin = begin

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name
        """No node was read."""
        return {}

    def latestOffset(self, start: Offset, limit: object) -> Offset:  # noqa: ARG002, N802 - Spark's
        """Return the current places of nodes; a node without an answer keeps its place."""
        former = {int(node): StreamOffset.read(found) for node, found in start.items()}
        by_address = {each.address: each for each in former.values()}
        with environment_with(self._variables):
            found = self._poll.each(lambda line: _seen(line, by_address))
        self._meet(found)
        top = max((each.reach for each in found.values()), default=0)
        places = {node: _still(place) for node, place in former.items()}
        for address, seen in found.items():
            node = seen.sample.id
            places[node] = self._next(address, seen, former.get(node), top)
        return {str(node): asdict(place) for node, place in sorted(places.items())}

    def _meet(self, found: Mapping[str, NodePosition]) -> None:
        """Members that others name are asked from now on."""
        known = {each.sample.id for each in found.values()}
        for seen in found.values():
            for member, _, address in seen.sample.nodes:
                if member not in known and address not in self._poll.addresses:
                    self._poll.addresses.append(address)

    def _next(
        self, address: str, seen: NodePosition, former: StreamOffset | None, top: int
    ) -> StreamOffset:
        sample = seen.sample
        generation = former.generation if former is not None else 1
        begin = max(self._begin, top - REACH, 0)
        if former is None:
            after = min(begin, seen.reach)
        elif former.uuid != sample.uuid:
            generation, after = generation + 1, min(begin, seen.reach)
        elif seen.durable < former.index or seen.before != former.crc:
            after = max(0, min(former.index, seen.reach) - REACH)
        elif seen.reach <= former.index:
            return _still(former)
        else:
            after = former.index
        return StreamOffset(
            address=address,
            node=sample.id,
            uuid=sample.uuid,
            generation=generation,
            after=after,
            index=max(after, seen.reach),
            crc=seen.crc,
        )

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:  # noqa: ARG002 - the same
        """One task per node with new entries."""
        places = [StreamOffset.read(each) for each in end.values()]
        return [
            Pieces(
                [
                    LiveRange(
                        address=each.address,
                        node=each.node,
                        uuid=each.uuid,
                        generation=each.generation,
                        first=each.after + 1,
                        last=each.index,
                    )
                ]
            )
            for each in places
            if each.index > each.after
        ]

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        """The rows. An unavailable node gives none: the checksum chain covers the rest."""
        assert isinstance(partition, Pieces)
        with environment_with(self._variables):
            for piece in partition.pieces:
                try:
                    for found in whole(piece, self._run_id, timeout=FETCH_S_MAX):
                        yield never_null("wal", found)
                except QsyncError:
                    return

    def stop(self) -> None:
        """Hang up."""
        self._poll.close()


class StatusStream(SimpleDataSourceStreamReader):
    """Offsets: the number of polls, and the directories that were seen."""

    def __init__(
        self,
        addresses: Sequence[str],
        *,
        run_id: str,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self._poll = LivePoll(addresses)
        self._variables = dict(variables or {})
        self._run_id = run_id

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name
        """Return the offset before any answer."""
        return {"polls": 0, "samples": 0, "met": {}}

    def read(self, start: Offset) -> tuple[Iterator[tuple[object, ...]], Offset]:
        """Ask all nodes once. If none answers, the micro-batch has no rows."""
        met, polls, samples = start["met"], start["polls"], start["samples"]
        assert isinstance(met, dict)
        assert isinstance(polls, int)
        assert isinstance(samples, int)
        generations = Generations()
        for name, number in met.items():
            node, _, uuid = name.partition(" ")
            generations.meet(int(node), uuid, number)
        recorder = SampleRecorder(generations, first=samples)
        with environment_with(self._variables):
            samples_of = self._poll.statuses()
        for sample in samples_of.values():
            row = recorder.heard(sample)
            met[f"{sample.id} {sample.uuid}"] = row["generation"]
        rows = [{"run_id": self._run_id, **row} for row in recorder.rows]
        columns = batch("status", rows).to_pydict().values()
        end = {"polls": polls + 1, "samples": samples + len(rows), "met": met}
        return iter(list(zip(*columns, strict=True))), end

    def readBetweenOffsets(  # noqa: N802 - Spark's name
        self,
        start: Offset,  # noqa: ARG002 - the same
        end: Offset,  # noqa: ARG002 - the same
    ) -> Iterator[tuple[object, ...]]:
        """Earlier statuses cannot be read again."""
        return iter(())


def _seen(line: NodeConnection, former: Mapping[str, StreamOffset]) -> NodePosition:
    sample = live.status_of(line)
    place = former.get(line.address)
    here = place is not None and place.uuid == sample.uuid
    first = place.index if place is not None and here else 0
    reach = min(sample.confirmed, sample.written, first + TRIGGER_ENTRIES_MAX)
    then, now = _at(line, first), _at(line, reach)
    return NodePosition(sample, reach, now.before, then.before, then.durable)


def _at(line: NodeConnection, index: int) -> packed.PackedAnswer:
    """Ask for no entries, only for the checksum of that one."""
    return packed.read(line.ask(PackedRequest(next(IDS), Index(index + 1), 0, 0)))


def _still(place: StreamOffset) -> StreamOffset:
    return StreamOffset(**asdict(place) | {"after": place.index})
