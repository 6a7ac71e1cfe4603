"""A replica that is a cluster of one, on a disk in memory that writes on command."""

from dataclasses import dataclass, field

import cbor2

from election.messages import Index, Replica
from election.quorum import parse
from qsync.core.config import CoreConfig
from qsync.core.configuration import all_of
from qsync.core.inputs import Written
from qsync.core.trimming import start_at, trim_log
from qsync.data.request import Request, SubmittedTransaction
from qsync.node.connection import Connection
from qsync.replica import Replica as WholeReplica
from qsync.store.contract import NO_BALLOT
from qsync.store.memory import MemoryLog, MemorySpaces
from qsync.wire import replies
from qsync.wire.frames import Frames

CONFIG = CoreConfig(me=Replica(1), voters=(Replica(1),), synchro_quorum=parse("N / 2 + 1"))


@dataclass
class Lone:
    """The replica, its log, what it answered to whom, and the time."""

    log: MemoryLog = field(default_factory=MemoryLog)
    said: list[tuple[Connection, bytes]] = field(default_factory=list)
    now: float = 0.0

    def __post_init__(self) -> None:
        self.log.recover()
        self.replica = WholeReplica(
            CONFIG,
            ballot=NO_BALLOT,
            confirmed=Index(0),
            stored=(),
            tail=self.log.entries,
            backing=MemorySpaces(),
            folded=Index(0),
            founding=all_of(CONFIG.voters),
        )
        self.replica.clock(0.0)
        self.replica.start()
        self.settle()

    def settle(self) -> None:
        """Write and do all that can be done."""
        while True:
            ready = self.replica.ready()
            if ready.write is None and not ready.settled and not ready.reads:
                return
            if ready.write is not None:
                self.log.write(ready.write)
                self.replica.step(Written(id=ready.write.id))

    def submit(self, *ops: list[object]) -> SubmittedTransaction:
        """A transaction; it is pending until `settle`."""
        return self.replica.submit(None, Request(ops=ops))

    def write(self, *ops: list[object]) -> int:
        """A transaction and its confirmation; the index of it."""
        done = self.submit(*ops)
        self.settle()
        return int(done.index)

    def forget(self, below: int) -> None:
        """The log begins at that index from now on, in memory too."""
        replicated_log = self.replica.machine.replicated_log
        start = start_at(replicated_log, Index(below - 1))
        trim_log(replicated_log, start)
        self.log.trim(start)

    def send(self, connection: Connection, data: bytes) -> None:
        """What a room of the node says."""
        self.said.append((connection, data))

    def answers(self) -> list[object]:
        """What was said since the last call: values, or the error."""
        said, self.said = self.said, []
        found: list[object] = []
        for _, data in said:
            (payload,) = Frames().feed(data)
            found.append(replies.decode(payload)[1])
        return found


def row(*fields: object) -> bytes:
    """A tuple as it travels."""
    return cbor2.dumps(list(fields))
