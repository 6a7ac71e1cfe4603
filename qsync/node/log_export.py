"""Long parts of the log for checkers, packed a little at a time beside other work."""

from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from election.messages import Index
from qsync.core.replicated_log import ReplicatedLog
from qsync.error_details import RETRY_AFTER
from qsync.errors import Damaged, Overloaded, QsyncError
from qsync.node.connection import Connection
from qsync.node.effects import Effects
from qsync.node.system import SYSTEM
from qsync.record import RecordDamage
from qsync.store.chain import crc_at
from qsync.wire import packed, replies, verbs

STEP_ENTRIES: Final = 512
STEP_BYTES: Final = 256 << 10
"""The size that is read and packed at once, while all other work waits: under half a
millisecond.
"""
ASKED_MAX: Final = 16
"""How many answers may be under way on one node."""

Send = Callable[[Connection, bytes], None]


class LogReader(Protocol):
    """The type of `Log.read`."""

    def __call__(self, first: Index, *, bytes_max: int) -> bytes:
        """Return whole records, beginning with the one that holds `first`."""
        ...


class LogExports:
    """Packs all answers in one background task, a step of each in turn."""

    def __init__(
        self,
        replicated_log: ReplicatedLog,
        read: LogReader,
        *,
        send: Send,
        flush: Callable[[], None],
        effects: Effects = SYSTEM,
    ) -> None:
        self._replicated_log = replicated_log
        self._read = read
        self._send = send
        self._flush = flush
        self._asked: deque[_Export] = deque()
        self._effects = effects
        self._wake = effects.event()

    def __len__(self) -> int:
        return len(self._asked)

    def ask(self, connection: Connection, request: verbs.PackedRequest) -> None:
        """Take a request. Raises Overloaded."""
        if len(self._asked) >= ASKED_MAX:
            raise Overloaded(
                f"{ASKED_MAX} stretches of the log are being packed on this node already",
                details={RETRY_AFTER: 0.5},
            )
        self._asked.append(_Export(connection, request, self._replicated_log))
        self._wake.set()

    async def run(self) -> None:
        """Pack until cancelled, one step between two turns of all other tasks."""
        while True:
            if not self._asked:
                self._wake = self._effects.event()
                await self._wake.wait()
            self.step()
            await self._effects.give_way()

    def step(self) -> None:
        """Pack a bounded piece of the next answer."""
        export = self._asked.popleft()
        if export.connection.closed:
            return
        try:
            done = export.step(self._replicated_log, self._read)
            before = export.before(self._replicated_log, self._read) if done else 0
        except QsyncError as error:
            self._send(export.connection, replies.failed(export.id, error))
        else:
            if not done:
                self._asked.append(export)
                return
            answer = export.answer(self._replicated_log, before=before)
            self._send(export.connection, packed.reply(export.id, answer))
        self._flush()


class _Export:
    """One answer, packed in part."""

    def __init__(
        self, connection: Connection, request: verbs.PackedRequest, replicated_log: ReplicatedLog
    ) -> None:
        self.connection = connection
        self.id = request.id
        self._first = max(1, int(request.first))
        self._opening = request.opening
        self._most = packed.fitting(request.count_max, request.opening)
        self._begin(replicated_log)

    def _begin(self, replicated_log: ReplicatedLog) -> None:
        self._cuts = replicated_log.cuts
        self._parts: list[packed.PackedRows] = []
        self._next = self._first
        self._raw, self._at = b"", 0

    def step(self, replicated_log: ReplicatedLog, read: LogReader) -> bool:
        """Pack a little more; return true when nothing is left. Raises Damaged, StoreError."""
        if self._cuts != replicated_log.cuts:
            self._begin(replicated_log)  # what was packed may not be in the log any more
        upto = min(int(replicated_log.written), self._first + self._most - 1)
        left = upto - self._next + 1
        if left <= 0:
            return True
        try:
            if self._at == len(self._raw):
                self._raw, self._at = self._fetch(read)
            found = packed.pack(
                self._raw,
                opening=self._opening,
                at=self._at,
                entries_max=min(left, STEP_ENTRIES),
                bytes_max=STEP_BYTES,
            )
        except RecordDamage as damage:
            raise Damaged(f"the log cannot be read from {self._next} on: {damage}") from damage
        self._parts.append(found.rows)
        self._next += found.rows.entries
        self._at = found.stop
        return self._next > upto

    def _fetch(self, read: LogReader) -> tuple[bytes, int]:
        """Return records that hold the next entry, and its place in them."""
        raw = read(Index(self._next), bytes_max=STEP_BYTES)
        first = packed.first_index(raw)
        if first > self._next:
            raise RecordDamage(f"the log begins at {first}", index=self._next - 1)
        return raw, packed.skip(raw, self._next - first)

    def before(self, replicated_log: ReplicatedLog, read: LogReader) -> int:
        """Return the checksum before the first entry; 0 where the log does not have it."""
        before, log = self._first - 1, replicated_log.log
        if before > log.last:
            return 0
        if log.knows(before):
            return int(log.crc_at(before))
        return int(crc_at(read(Index(before), bytes_max=1), before))

    def answer(self, replicated_log: ReplicatedLog, *, before: int) -> packed.PackedAnswer:
        """Return the whole answer, once nothing is left to pack."""
        first = self._first
        return packed.PackedAnswer(
            first=first,
            reached=self._next - 1,
            durable=int(replicated_log.written),
            before=before,
            rows=packed.join(self._parts or [packed.none(self._opening)]),
        )
