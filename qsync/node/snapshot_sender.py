"""A leader sends a snapshot to nodes that lack entries which its log does not have any more."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from election.messages import Index, Replica, Term
from qsync import features
from qsync.core.replicated_log import ReplicatedLog
from qsync.core.trimming import start_at
from qsync.errors import Damaged, StoreError
from qsync.node.aside import in_thread
from qsync.node.assembly import NodeStorage
from qsync.node.effects import Effects
from qsync.node.timeline import Timeline
from qsync.replica import Replica as Core
from qsync.store.snapshot import SnapshotName, name_of
from qsync.store.snapsource import FileSource, SnapshotSource, ViewSource, find_file
from qsync.wire import snapshots
from qsync.wire.snapshots import HEAD_NUMBER, PIECE_BYTES, FetchSnapshot, SnapshotPiece

WINDOW_CHUNKS: Final = 2
"""The maximum number of chunks in flight, or waiting on the other side."""
UNDER_WAY_BYTES: Final = 256 << 10
"""Nor is more than this on its way to a node: heartbeats leave over the same connection."""
LINK_DELAY: Final = 0.002
"""Seconds after which a connection that is full is looked at again."""
IDLE_SECONDS_MAX: Final = 30.0
"""A receiver that requests no chunks for this time is dropped, and must start again."""
BURST_SECONDS: Final = 0.01
"""So much of the rate may be made up for after a wait."""
_NOTHING: Final = memoryview(b"")


@dataclass(slots=True, kw_only=True)
class SnapshotTransfer:
    """One snapshot on its way to one node."""

    peer: Replica
    term: Term
    ask: int
    source: SnapshotSource
    taken: int
    """Chunks that are durable there."""
    sent: int
    """Chunks that were read to be sent."""
    asked_at: float
    began: float
    number: int = HEAD_NUMBER
    chunk: memoryview = _NOTHING
    """The unsent rest of the chunk with that number."""
    offset: int = 0
    is_read: bool = False
    """There is no chunk behind the last one that was read."""
    bytes_sent: int = 0

    @property
    def may_read(self) -> bool:
        """Whether there is another chunk, and room for it on the other side."""
        return not self.is_read and self.sent < self.taken + WINDOW_CHUNKS

    @property
    def is_done(self) -> bool:
        """Whether all of it is durable there."""
        return self.is_read and not self.chunk and self.taken >= self.sent


def head_for(
    source: SnapshotSource, replicated_log: ReplicatedLog, told: frozenset[str] | None
) -> bytes:
    """Return its head for a peer with these features; None: they are unknown yet.

    With what our log knows of older entries, unless the peer's release reads no such head.
    """
    index = source.head.start.index
    known = replicated_log.log.start.index <= index <= replicated_log.confirmed
    if told is None or features.LOG_TERMS not in told or not known:
        return source.text
    start = start_at(replicated_log, index)
    fits = start.alone() == source.head.start
    return replace(source.head, start=start).encode() if fits else source.text


class SnapshotSender:
    """Sends to all who ask in one task, a chunk to each in turn. `heard` takes what they ask."""

    def __init__(
        self,
        replica: Core,
        storage: NodeStorage,
        *,
        deliver: Callable[[Replica, bytes], None],
        under_way: Callable[[Replica], int | None],
        rate: Callable[[], int],
        timeline: Timeline,
        effects: Effects,
    ) -> None:
        """`deliver` sends at once. `under_way`: bytes on their way to a peer; None: not connected.

        `rate`: bytes a second, to all together.
        """
        self.transfers: dict[Replica, SnapshotTransfer] = {}
        self._asked: dict[Replica, FetchSnapshot] = {}
        self._replica = replica
        self._storage = storage
        self._deliver = deliver
        self._under_way = under_way
        self._rate = rate
        self._timeline = timeline
        self._effects = effects
        self._damaged: dict[Path, str] = {}
        self._wake = effects.event()
        self._free_at = 0.0

    @property
    def needed(self) -> Index | None:
        """The index behind which the log is needed for receivers; None without any."""
        starts = [each.source.head.start.index for each in self.transfers.values()]
        return min(starts, default=None)

    def heard(self, peer: Replica, message: FetchSnapshot) -> None:
        """Take a request for a snapshot, or the report of how much of one has arrived."""
        machine = self._replica.machine
        if machine.leader is None or message.term != machine.term:
            return
        transfer = self.transfers.get(peer)
        if transfer is not None and transfer.ask == message.ask:
            transfer.taken = max(transfer.taken, min(message.taken, transfer.sent))
            transfer.asked_at = self._effects.now()
        else:
            self._asked[peer] = message
        self._wake.set()

    async def run(self) -> None:
        """Send until cancelled."""
        while True:
            asked, self._asked = self._asked, {}
            for peer, message in asked.items():
                await self._attempt(self._begin(peer, message), peer)
            self._forget_old()
            moved = False
            for each in list(self.transfers.values()):
                before = each.bytes_sent
                await self._attempt(self._advance(each), each.peer)
                moved = moved or each.bytes_sent > before
            if not moved and not self._asked:
                await self._wait()

    async def _wait(self) -> None:
        if any(each.chunk for each in self.transfers.values()):
            await self._effects.sleep(LINK_DELAY)
            return
        self._wake = self._effects.event()
        if any(each.is_done or each.may_read for each in self.transfers.values()):
            return
        if self.transfers:
            await self._effects.until(self._wake, self._effects.now() + IDLE_SECONDS_MAX)
        else:
            await self._wake.wait()

    async def _attempt(self, work: Coroutine[None, None, None], peer: Replica) -> None:
        """Do it; an error of reading ends one transfer, and its receiver asks again."""
        try:
            await work
        except StoreError as error:
            self._forget(peer)
            self._timeline.append("snapshot_failed", {"to": int(peer), "why": error.message})

    async def _begin(self, peer: Replica, message: FetchSnapshot) -> None:
        wanted = SnapshotName(message.index, message.crc) if message.index else None
        former = self.transfers.pop(peer, None)
        if former is not None and wanted in (None, name_of(former.source.text)):
            source = former.source
        else:
            if former is not None:
                former.source.close()
            source = await self._open(wanted)
        goes_on = wanted == name_of(source.text)
        taken, now = message.taken if goes_on else 0, self._effects.now()
        machine = self._replica.machine
        progress = machine.peers.get(peer)
        told = None if progress is None else progress.features
        self.transfers[peer] = SnapshotTransfer(
            peer=peer,
            term=message.term,
            ask=message.ask,
            source=source,
            taken=taken,
            sent=taken,
            asked_at=now,
            began=now,
            chunk=memoryview(head_for(source, machine.replicated_log, told)),
        )

    async def _open(self, wanted: SnapshotName | None) -> SnapshotSource:
        """Open a file that our log continues, or else the rows. Raises StoreError."""
        replicated_log, folder = self._replica.machine.replicated_log, self._storage.snapshots
        least = replicated_log.log.start.index
        if folder is not None:
            before = dict(self._damaged)
            found = await in_thread(
                self._effects,
                lambda: find_file(folder, least=least, wanted=wanted, damaged=self._damaged),
            )
            for path in self._damaged.keys() - before.keys():
                self._tell_damaged(path)
            if found is not None:
                return found
        if self._replica.lost is not None:
            raise StoreError(f"no snapshot can be made: {self._replica.lost}")
        view = self._storage.spaces.view()
        start = start_at(replicated_log, view.folded)
        if not start.can_begin:
            view.close()
            raise StoreError("nothing is folded yet that could be sent as a snapshot")
        return ViewSource(view, start)

    def _tell_damaged(self, path: Path) -> None:
        fields = {"file": path.name, "why": self._damaged[path]}
        self._timeline.append("snapshot_damaged", fields)

    async def _advance(self, transfer: SnapshotTransfer) -> None:
        """Send what there is room for of one chunk."""
        if not transfer.chunk and transfer.may_read:
            await self._read(transfer)
        while transfer.chunk:
            under_way = self._under_way(transfer.peer)
            if under_way is None:
                self._forget(transfer.peer)  # it asks again when it is connected
                return
            if under_way > UNDER_WAY_BYTES or transfer.peer in self._asked:
                return
            await self._throttle()
            self._send_piece(transfer)

    async def _read(self, transfer: SnapshotTransfer) -> None:
        source, number = transfer.source, transfer.sent + 1
        try:
            chunk = await in_thread(self._effects, lambda: source.read_chunk(number))
        except Damaged as damage:
            if isinstance(source, FileSource):
                self._damaged[source.path] = damage.message
                self._tell_damaged(source.path)
            raise
        transfer.number, transfer.offset, transfer.chunk = number, 0, memoryview(chunk)
        if chunk:
            transfer.sent = number
        else:
            transfer.is_read = True
            self._send_piece(transfer)

    async def _throttle(self) -> None:
        """Wait until this many bytes may be sent, by the rate."""
        now = self._effects.now()
        if self._free_at > now:
            await self._effects.sleep(self._free_at - now)
        self._free_at = max(self._free_at, now - BURST_SECONDS) + PIECE_BYTES / self._rate()

    def _send_piece(self, transfer: SnapshotTransfer) -> None:
        data = bytes(transfer.chunk[:PIECE_BYTES])
        source = transfer.source
        piece = SnapshotPiece(
            term=transfer.term,
            ask=transfer.ask,
            chunks=source.chunks,
            snapshot_bytes=source.snapshot_bytes,
            number=transfer.number,
            size=transfer.offset + len(transfer.chunk),
            offset=transfer.offset,
            data=data,
        )
        self._deliver(transfer.peer, snapshots.encode(piece))
        transfer.chunk = transfer.chunk[len(data) :]
        transfer.offset += len(data)
        transfer.bytes_sent += len(data)

    def _forget(self, peer: Replica) -> None:
        transfer = self.transfers.pop(peer, None)
        if transfer is not None:
            transfer.source.close()

    def _forget_old(self) -> None:
        """End transfers that are complete or not asked for any more; all when we stop leading."""
        machine, late = self._replica.machine, self._effects.now() - IDLE_SECONDS_MAX
        for each in list(self.transfers.values()):
            if each.is_done:
                fields = {
                    "to": int(each.peer),
                    "index": int(each.source.head.start.index),
                    "chunks": each.sent,
                    "bytes": each.bytes_sent,
                    "seconds": round(self._effects.now() - each.began, 3),
                }
                self._timeline.append("snapshot_sent", fields)
            elif each.asked_at >= late and machine.leader is not None:
                continue
            self._forget(each.peer)
