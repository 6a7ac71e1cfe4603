"""What happens inside of a node, written down for checkers before anybody else can know of it.

Only for nodes that are told to (`node.events`); for all others `Loop.events` is None. Whatever is
durable is noted after the disk has it, and everything at the latest before the batch is sent.
"""

import os
import struct
import time
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from election.messages import AskVote, Ballot, CampaignNow, Replica, Resigned, Vote
from election.roles import Role
from qsync.core.inputs import Consistency, Forgotten, Input, ReadAsked, Received
from qsync.core.messages import Appended, Heard, Message
from qsync.core.ready import Ready, Ticket, Verdict, Write
from qsync.store import faults
from qsync.store.eventfile import FORMAT, EventFile, Record, What, clock

if TYPE_CHECKING:
    from qsync.config import NodeConfig
    from qsync.node.assembly import Storage
    from qsync.replica import Replica as Core

_FRESH: Final = frozenset({Consistency.LINEARIZABLE, Consistency.LEASE})
"""Reads that promise to show what was answered before."""
_ENDS_PROMISES: Final = frozenset({AskVote, CampaignNow, Resigned, Vote})
"""Messages that may: few, so that the others cost no look."""


class Events:
    """One life of one node. The loop calls it; `write` before anything is sent.

    `over` is told why when the file takes no more.
    """

    def __init__(
        self,
        core: "Core",
        file: EventFile,
        *,
        over: Callable[[str], None],
        now: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.file = file
        self._over = over
        self._core = core
        self._now = now
        self._began = now()
        self._records: list[Record] = []
        self._asked: dict[Ticket, int] = {}
        self._ballot: Ballot | None = None
        self._led = 0
        self._confirmed = 0
        self._promised = (0, 0, 0)

    def started(self, ballot: Ballot, about: dict[str, object]) -> None:
        """What is on disk as this life begins; nothing has been said in it yet."""
        log = self._core.machine.ledger.log
        self._ballot = ballot
        self._records.append(
            [
                int(What.STARTED),
                self._now(),
                about | {"format": FORMAT, "me": int(self._core.machine.config.me)},
                [int(ballot.term), _number(ballot.vote)],
                [list(run) for run in log.terms()],
                _packed(log.checksums()),
            ]
        )
        self.write()

    def begin(self) -> None:
        """A batch of inputs begins."""
        self._began = self._now()

    def asking(self, step: Callable[[Input], None]) -> Callable[[Input], None]:
        """The same step, that notes when reads were asked, and what ends promises."""

        def noted(event: Input) -> None:
            if isinstance(event, Received):
                if type(event.message) in _ENDS_PROMISES and not self.file.stopped:
                    self._heard(event.peer, event.message)
            elif isinstance(event, ReadAsked):
                if event.consistency in _FRESH and not self.file.stopped:
                    self._asked[event.ticket] = self._began
            elif isinstance(event, Forgotten):
                self._asked.pop(event.ticket, None)
            step(event)

        return noted

    def decided(self) -> None:
        """The batch is decided, and nothing of that has been told yet."""
        machine = self._core.machine
        raft, ledger = machine.raft, machine.ledger
        if raft.role is Role.LEADER and raft.term != self._led:
            self._led = raft.term
            self._records.append([int(What.LEADS), self._now(), int(raft.term)])
        index = ledger.confirmed
        if index > self._confirmed:
            self._confirmed = int(index)
            place = [int(index), int(ledger.log.term_at(index)), int(ledger.log.crc_at(index))]
            quorum = machine.config.quorum
            self._records.append([int(What.CONFIRMED), self._now(), *place, quorum])

    def wrote(self, write: Write) -> None:
        """It is durable."""
        news = None
        if write.ballot != self._ballot:
            self._ballot = write.ballot
            news = [int(write.ballot.term), _number(write.ballot.vote)]
        cut = None if write.cut_above is None else int(write.cut_above)
        entries = write.entries
        if news is None and cut is None and not entries:
            return
        first = int(entries[0].index) if entries else 0
        if entries and entries[0].term == entries[-1].term:
            terms = [[len(entries), int(entries[0].term)]]
        else:
            terms = [[len(list(run)), int(term)] for term, run in groupby(e.term for e in entries)]
        crcs = _packed([each.crc for each in entries])
        self._records.append([int(What.WROTE), self._now(), news, cut, first, terms, crcs])

    def saying(self, messages: Sequence[tuple[Replica, Message]]) -> None:
        """These are about to be sent."""
        for peer, message in messages:
            if isinstance(message, Appended):
                if message.ok and message.index:
                    self._ack(peer, message)
            elif isinstance(message, Heard) and message.loyal_us:
                self._promise(peer, message)
            elif isinstance(message, Vote) and message.granted and not message.pre:
                vote = [int(peer), int(message.asked)]
                self._records.append([int(What.VOTE), self._now(), *vote])

    def _heard(self, peer: Replica, message: Message) -> None:
        """The word of the leader ends what was promised to it (membership.md M11 f)."""
        leader, term, _ = self._promised
        if isinstance(message, Resigned | CampaignNow):
            leader, term = int(message.leader), int(message.term)
        elif isinstance(message, AskVote):
            raft = self._core.machine.raft
            if not message.transfer or message.pre or raft.leader is None:
                return
            leader, term = int(raft.leader), int(raft.term)
        elif not isinstance(message, Vote) or not message.granted or int(peer) != leader:
            return  # a leader that votes for us has stepped down for us
        self._promised = (0, 0, 0)
        self._records.append([int(What.RELEASED), self._now(), leader, term])

    def _promise(self, peer: Replica, heard: Heard) -> None:
        """Not each one: one that ends by a quarter of its time later than the one before.

        What is written down is never longer than what was promised: it runs from the beginning of
        the batch, and the node read its own clock after that.
        """
        lasts = heard.loyal_us * 1000
        until = self._began + lasts
        leader, term, written = self._promised
        if (leader, term) != (int(peer), int(heard.term)) or until - written > lasts // 4:
            self._promised = (int(peer), int(heard.term), until)
            self._records.append([int(What.PROMISED), self._now(), *self._promised])

    def _ack(self, peer: Replica, message: Appended) -> None:
        machine = self._core.machine
        index, log, written = message.index, machine.ledger.log, machine.ledger.written
        if index > written and message.term < machine.raft.term:
            return  # of a term that is over: what it speaks of was cut meanwhile
        crc = int(log.crc_at(index)) if index <= log.last else None
        place = [int(peer), int(message.term), int(index), crc]
        self._records.append([int(What.ACK), self._now(), *place])

    def answering(self, ready: Ready) -> None:
        """Clients are about to be told, and shown."""
        ledger = self._core.machine.ledger
        done = [each.index for each in ready.settled if each.verdict is Verdict.COMMITTED]
        index = max((each for each in done if each <= ledger.confirmed), default=0)
        if index:
            self._records.append([int(What.ANSWERED), self._now(), int(index)])
        asked = [self._asked.pop(each.ticket, None) for each in ready.reads]
        known = [
            at
            for at, each in zip(asked, ready.reads, strict=True)
            if at is not None and each.refused is None
        ]
        if known:
            sure = int(min(ledger.visible, ledger.confirmed))
            served = [
                int(ledger.visible),
                max(known),
                sure,
                int(ledger.log.term_at(ledger.visible)),
            ]
            self._records.append([int(What.SERVED), self._now(), *served])

    def write(self) -> None:
        """All of the batch, in one call."""
        if self._records:
            records, self._records = self._records, []
            self.file.write(records, self._now())
            if self.file.stopped:
                self._asked.clear()
                self.file.close()
                self._over(self.file.stopped)

    def close(self) -> None:
        """The life of the node ends."""
        self.write()
        if not self.file.stopped:
            self.file.close()


def begin(
    config: "NodeConfig", storage: "Storage", core: "Core", over: Callable[[str], None]
) -> Events:
    """A new life of the node. Raises StoreError."""
    directory = storage.directory
    about: dict[str, object] = {
        "clock": clock(),
        "pid": os.getpid(),
        "instance": directory.identity.instance,
        "cluster": directory.identity.cluster,
        "voters": [int(each) for each in core.machine.config.voters],
    }
    try:
        there = directory.path.stat()
        about |= {"device": there.st_dev, "inode": there.st_ino}
        file = EventFile(directory.path, bytes_max=config.node.events_bytes_max)
    except OSError as error:
        raise faults.typed(error, directory.path) from error
    events = Events(core, file, over=over)
    events.started(storage.recovered.ballot, about)
    return events


def _number(replica: Replica | None) -> int | None:
    return None if replica is None else int(replica)


def _packed(crcs: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(crcs)}I", *crcs)
