"""A follower takes a snapshot when its leader's log does not have the entries that it lacks.

The core says that it wants one (`Ready.snapshot`) and learns when all of it is here. Chunks become
durable one by one, so that a cut connection or a restart costs at most the one that was on its way.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from election.messages import Index, Replica
from qsync.core.border import check_snapshot
from qsync.core.inputs import SnapshotReceived
from qsync.core.messages import InstallSnapshot
from qsync.errors import Damaged, ProtocolError, QsyncError
from qsync.node.aside import in_thread
from qsync.node.assembly import NodeStorage
from qsync.node.effects import Effects
from qsync.node.snapshot_sender import WINDOW_CHUNKS
from qsync.node.timeline import Timeline
from qsync.record import Crc
from qsync.replica import Replica as Core
from qsync.store.receiving import ReceivedSnapshot, newest_incoming
from qsync.store.snapshot import CHUNK_BYTES_MAX, HEAD_BYTES_MAX, decode_head
from qsync.wire import snapshots
from qsync.wire.snapshots import HEAD_NUMBER, FetchSnapshot, SnapshotPiece

BEGIN_DELAY: Final = 0.005
"""Seconds between two looks at whether the log begins at the snapshot durably."""


@dataclass(slots=True)
class _Arrivals:
    """The chunks that came in answer to one question."""

    ask: int
    next_number: int | None = HEAD_NUMBER
    """Behind the head comes the first chunk that is not here."""
    begun: bytearray = field(default_factory=bytearray)
    chunks: deque[tuple[int, bytes]] = field(default_factory=deque)
    """Complete chunks that wait to be imported; one without bytes behind the last."""
    moved: bool = False
    """Something came since the leader said last that it has a snapshot."""
    chunks_in_all: int = 0
    bytes_in_all: int = 0
    failed: str | None = None
    """Why what came before was of no use, if that was reported."""


class SnapshotReceiver:
    """Takes snapshots in one task. `offered`: from the core; `heard`: from the leader."""

    def __init__(
        self,
        replica: Core,
        storage: NodeStorage,
        *,
        deliver: Callable[[Replica, bytes], None],
        install: Callable[[SnapshotReceived], None],
        timeline: Timeline,
        effects: Effects,
    ) -> None:
        """`deliver` sends at once. `install` takes the input in a batch of its own."""
        self.received: ReceivedSnapshot | None = None
        """As far as it is here."""
        self.arrivals = _Arrivals(int.from_bytes(effects.secret(4)) << 16)
        self._is_installing = False
        self._offer: InstallSnapshot | None = None
        self._must_ask = False
        self._replica = replica
        self._storage = storage
        self._deliver = deliver
        self._install = install
        self._timeline = timeline
        self._effects = effects
        self._wake = effects.event()

    @property
    def leader(self) -> Replica | None:
        """The leader whose snapshot is being taken or installed; None when none is."""
        return None if self._offer is None else self._offer.leader

    @property
    def is_needless(self) -> bool:
        """Whether the log has meanwhile got what the snapshot that came in part would bring."""
        received = self.received
        return (
            received is not None
            and not self._is_installing
            and received.head.start.index <= self._replica.machine.replicated_log.confirmed
        )

    def wake(self) -> None:
        """Have a needless snapshot removed."""
        self._wake.set()

    def offered(self, offer: InstallSnapshot) -> None:
        """Take the core's order for the rows of the leader's snapshot; it is repeated."""
        if self._is_installing:
            return
        former, self._offer = self._offer, offer
        arrivals = self.arrivals
        same = former is not None and _link(former) == _link(offer)
        if same and (arrivals.moved or arrivals.chunks):
            arrivals.moved = False
            return
        self._must_ask = True
        self._wake.set()

    def heard(self, peer: Replica, piece: SnapshotPiece) -> None:
        """Take a message of the leader. Raises ProtocolError."""
        offer, arrivals = self._offer, self.arrivals
        if offer is None or self._is_installing or piece.ask != arrivals.ask:
            return
        if (peer, piece.term) != (offer.leader, offer.term):
            return
        is_head = piece.number == HEAD_NUMBER
        if piece.size > (HEAD_BYTES_MAX if is_head else CHUNK_BYTES_MAX):
            raise ProtocolError(f"a chunk of {piece.size} bytes")
        if arrivals.next_number is None and not is_head:
            arrivals.next_number = piece.number
        if (piece.number, piece.offset) != (arrivals.next_number, len(arrivals.begun)):
            raise ProtocolError(f"chunk {piece.number} of a snapshot is out of order")
        arrivals.moved = True
        arrivals.chunks_in_all, arrivals.bytes_in_all = piece.chunks, piece.snapshot_bytes
        arrivals.begun += piece.data
        if len(arrivals.begun) < piece.size:
            return
        if len(arrivals.chunks) > WINDOW_CHUNKS + 1:  # the head, and the end
            raise ProtocolError(f"more than {WINDOW_CHUNKS} chunks of a snapshot at a time")
        arrivals.chunks.append((piece.number, bytes(arrivals.begun)))
        arrivals.begun = bytearray()
        arrivals.next_number = None if is_head else piece.number + 1
        self._wake.set()

    async def run(self) -> None:
        """Ask, take and install until cancelled."""
        is_new = self._storage.snapshots is not None
        while True:
            try:
                if is_new:
                    is_new = False
                    self.received = await in_thread(self._effects, self._pending)
                elif self.is_needless:
                    await self._abandon()
                elif self._must_ask:
                    self._must_ask = False
                    await self._ask()
                elif self.arrivals.chunks and not self._is_installing:
                    await self._take(*self.arrivals.chunks.popleft())
                else:
                    self._wake = self._effects.event()
                    await self._wake.wait()
            except QsyncError as error:
                self._give_up(error)

    def _give_up(self, error: QsyncError) -> None:
        """Stop taking. What came stays, and the rest is asked for at the leader's next offer."""
        if error.message != self.arrivals.failed:
            fields = {"from": self.leader, "why": error.message}
            self._timeline.append("snapshot_failed", fields)
        self.arrivals = _Arrivals(self.arrivals.ask + 1, failed=error.message)

    async def _abandon(self) -> None:
        """Remove what came: its entry came with the log (membership.md M6 c), or is behind that."""
        received, offer = self.received, self._offer
        assert received is not None
        if offer is not None and offer.start.index <= received.head.start.index:
            self._offer = offer = None
        self._must_ask = offer is not None
        self.arrivals = _Arrivals(self.arrivals.ask + 1)
        await self._discard(received)

    async def _ask(self) -> None:
        offer = self._offer
        assert offer is not None
        if self.received is None:
            self.received = await in_thread(self._effects, self._pending)
        self.arrivals = _Arrivals(self.arrivals.ask + 1, failed=self.arrivals.failed)
        self._fetch()

    def _pending(self) -> ReceivedSnapshot | None:
        """Return what came before this process began, or before the leader changed."""
        spaces, folder = self._storage.spaces, self._storage.snapshots
        head = None if folder is None else newest_incoming(folder)
        return None if head is None else ReceivedSnapshot(spaces, folder, head)

    def _fetch(self) -> None:
        """Report how much is here: the leader sends the rest."""
        offer, received = self._offer, self.received
        assert offer is not None
        if received is not None and received.head.start.index < offer.start.index:
            received = None  # the leader's log does not go on behind it any more
        name = None if received is None else received.name
        message = FetchSnapshot(
            term=offer.term,
            ask=self.arrivals.ask,
            index=Index(0) if name is None else name.index,
            crc=Crc(0) if name is None else name.crc,
            taken=0 if received is None else received.taken,
        )
        self._deliver(offer.leader, snapshots.encode(message))

    async def _take(self, number: int, chunk: bytes) -> None:
        if number == HEAD_NUMBER:
            await self._take_head(chunk)
        received = self.received
        assert received is not None
        if received.is_whole or not chunk:
            await self._finish(received)
        elif number == received.taken + 1:
            await in_thread(self._effects, lambda: received.take_chunk(chunk))
            self._fetch()
        elif number != HEAD_NUMBER:
            raise Damaged(f"chunk {number} of a snapshot came, and {received.taken} are here")

    async def _take_head(self, text: bytes) -> None:
        former, offer = self.received, self._offer
        assert offer is not None
        told = decode_head(text)
        head = told.alone()
        if former is not None and former.head == head:
            former.start = told.start
            return
        check_snapshot(self._replica.machine.state, replace(offer, start=head.start))
        if head.start.index < offer.start.index:
            raise ProtocolError(f"a snapshot at {head.start.index}, before {offer.start.index}")
        if former is not None:
            await self._discard(former)
        spaces, folder = self._storage.spaces, self._storage.snapshots
        self.received = await in_thread(
            self._effects, lambda: ReceivedSnapshot(spaces, folder, head)
        )
        self.received.start = told.start

    async def _discard(self, received: ReceivedSnapshot) -> None:
        self.received = None
        await in_thread(self._effects, received.discard)

    async def _finish(self, received: ReceivedSnapshot) -> None:
        """Install a complete snapshot, if the core says that the log begins there now."""
        try:
            await in_thread(self._effects, received.finish)
        except Damaged:
            await self._discard(received)
            raise
        offer, start = self._offer, received.start
        assert offer is not None
        self._is_installing = True
        self._install(SnapshotReceived(offer=replace(offer, start=start)))
        lost = self._replica.lost
        if lost is not None and lost.snapshot == start.index:
            return  # `remake_rows` goes on
        # Who still lacks one is offered it again.
        self._is_installing, self._offer, self._must_ask = False, None, False
        if self._replica.machine.replicated_log.confirmed >= start.index:
            # membership.md M6 c: its entry came with the log meanwhile.
            await self._discard(received)

    async def remake_rows(self) -> None:
        """Replace rows that cannot be trusted by those of the snapshot, or rebuild them.

        The rows take their place when it is durable that the log begins there: a start does the
        same (see `importing.settle`). Raises Damaged, StoreError; again, it goes on.
        """
        received = self.received
        if not self._is_installing or received is None:
            self._storage.remake_rows()
            return
        replicated_log = self._replica.machine.replicated_log
        while replicated_log.written < received.head.start.index:
            await self._effects.sleep(BEGIN_DELAY)
        spaces = self._storage.spaces
        await in_thread(self._effects, lambda: spaces.install(received.rows))
        self.received, self._offer, self._is_installing = None, None, False


def _link(offer: InstallSnapshot) -> tuple[int, int, int]:
    """Return the connection and the term of a question."""
    return offer.term, offer.leader, offer.epoch
