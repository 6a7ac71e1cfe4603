"""Running nodes as streams for Spark: what they say of themselves, and what they confirm.

The log stream has confirmed entries only: they are never cut, so a later read returns the same
log. Where a node stands that was read before is checked by its checksum: a node that lost what it
had confirmed is read again from a little before, and the reader sees what became of it.
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
"""So far back a node is read that is new, was wiped, or lost what it had."""
TRIGGER_ENTRIES_MAX: Final = 262_144
"""Of one node in one micro-batch; the next one goes on there."""
FETCH_S_MAX: Final = 3.0
"""For each answer of a node that is followed: while one is awaited nothing else is judged."""
Offset: TypeAlias = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOffset:
    """How far a node was read. `after..index` is what the micro-batch that ends here reads."""

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
    """What a node says when a micro-batch is planned: where it is, and at the former place."""

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
        """Return where nodes are now; one without an answer stays where it was."""
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
        """Members that are named by others are asked from now on."""
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
        """A task a node that has news."""
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
        """The rows. A node that went away meanwhile gives none: the chain tells of what follows."""
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
    """Offsets: how often was asked, and the directories that were met."""

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
        """Ask everybody once. Where nobody answers, that is a micro-batch without rows."""
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
        """What nodes said once cannot be asked again."""
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
    """No entries, but the checksum of that one."""
    return packed.read(line.ask(PackedRequest(next(IDS), Index(index + 1), 0, 0)))


def _still(place: StreamOffset) -> StreamOffset:
    return StreamOffset(**asdict(place) | {"after": place.index})
