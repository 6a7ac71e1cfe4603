"""Events inside of a node, written down for checkers before their effects leave the node.

Only for nodes with `node.events`; for all others `Loop.events` is None. Whatever is
durable is noted after the disk has it, and everything at the latest before the batch is sent.
"""

import os
import sys
import time
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final

from election.messages import (
    Ballot,
    Replica,
    RequestVote,
    RequestVoteResponse,
    Resigned,
    TimeoutNow,
)
from qsync.checksum import crc32
from qsync.core.consistency import Consistency
from qsync.core.inputs import Forgotten, Input, ReadAsked, Received
from qsync.core.messages import AppendResponse, HeartbeatResponse, Message
from qsync.core.ready import Ready, Ticket, TransactionFate, Write
from qsync.record import Instance, headers, instance_text
from qsync.store import faults
from qsync.store.contract import Opened, PlacedLog
from qsync.store.eventfile import FORMAT, EventFile, clock
from qsync.store.eventpack import Record, What

if TYPE_CHECKING:
    from qsync.config import NodeConfig
    from qsync.core.configuration import Configuration
    from qsync.core.replicated_log import ReplicatedLog
    from qsync.node.assembly import NodeStorage
    from qsync.node.clock import ElapsedTime
    from qsync.replica import Replica as Core

_FRESH: Final = frozenset({Consistency.LINEARIZABLE, Consistency.LEASE})
"""Reads that promise to show what was answered before."""
_ENDS_PROMISES: Final = frozenset({RequestVote, TimeoutNow, Resigned, RequestVoteResponse})
"""Messages that may: few, so that the others cost no look."""


RECORDS_MAX: Final = 512
"""So many events wait for a message to be sent; answers to unsent messages cannot arrive."""
_NANOS: Final = 1_000_000_000
_COMMITTED: Final = TransactionFate.COMMITTED
_LEADS, _CONFIRMED, _WROTE = int(What.LEADS), int(What.CONFIRMED), int(What.WROTE)
_ACK, _ANSWERED, _SERVED = int(What.ACK), int(What.ANSWERED), int(What.SERVED)


@dataclass(slots=True)
class _Last:
    """The values written down last, of everything that is written down when it changes."""

    slept: float
    opened: Opened
    ballot: Ballot | None = None
    led: int = 0
    confirmed: int = 0
    promised: tuple[int, int, int] = (0, 0, 0)
    followed: "Configuration | None" = None


@dataclass(frozen=True, slots=True)
class EventPlace:
    """The node's log on disk, and the clock that leases and promises are judged by."""

    log: PlacedLog
    elapsed: "ElapsedTime"


class EventRecorder:
    """Writes the events of one life of a node. The loop calls it; `write` before anything is sent.

    `over` is called with the reason when the file takes no more.
    """

    def __init__(
        self,
        core: "Core",
        file: EventFile,
        place: EventPlace,
        *,
        over: Callable[[str], None],
        now: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.file = file
        self._over = over
        self._machine = core.machine
        self._place = place
        self._now = now
        self._began = now()
        self._records: list[Record] = []
        self._asked: dict[Ticket, int] = {}
        self._last = _Last(slept=place.elapsed.asleep, opened=place.log.opened)

    def started(self, ballot: Ballot, about: dict[str, object]) -> None:
        """Write down what is on disk as this life begins, before any message is sent.

        Of a log without its beginning: from the entry before it on, `first`, which stands for all
        that is in the snapshot (membership.md M6 d).
        """
        log = self._machine.replicated_log.log
        # An array: there may be millions, and as objects they would take ten times as much.
        sums = array("I", [log.start.crc] if log.start.index else [])
        for raw in self._place.log.stored():
            sums.extend([header[8] for header in headers(raw)])
        self._last.ballot = ballot
        about |= {"format": FORMAT, "me": int(self._machine.config.me)}
        about["first"] = max(1, int(log.start.index))
        about |= {"slept": int(self._last.slept * _NANOS), "file": list(self._last.opened[1:])}
        self._records.append(
            [
                int(What.STARTED),
                self._now(),
                about,
                [int(ballot.term), _number(ballot.vote)],
                [list(run) for run in log.terms()],
                _packed(sums),
            ]
        )
        self.write()

    def batch_started(self) -> None:
        """Note that a batch of inputs begins."""
        self._began = self._now()

    def asking(self, step: Callable[[Input], None]) -> Callable[[Input], None]:
        """Return a step that notes when reads were asked for, and what ends promises."""

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
        """Note the decisions of a batch, before any of them is sent."""
        machine, last = self._machine, self._last
        replicated_log = machine.replicated_log
        if machine.state.led != last.led:
            last.led = machine.state.led
            self._records.append((_LEADS, self._now(), int(last.led)))
        if self._place.elapsed.asleep != last.slept:
            last.slept = self._place.elapsed.asleep
            self._records.append((int(What.SLEPT), self._now(), int(last.slept * _NANOS)))
        index, follows = replicated_log.limbo.confirmed, replicated_log.configurations.followed
        if index == last.confirmed and follows is last.followed:
            return
        now = self._now()
        if follows is not last.followed:
            last.followed = follows
            # Of the same moment as what is confirmed in this batch: that may be by the former.
            self._records.append([int(What.CONFIGURED), now, *configuration(replicated_log)])
        if index > last.confirmed:
            last.confirmed, log = index, replicated_log.log
            place = (int(index), int(log.term_at(index)), int(log.crc_at(index)))
            self._records.append((_CONFIRMED, now, *place, machine.config.quorum))

    def wrote(self, write: Write) -> None:
        """Note that a write is durable."""
        last, news, begins = self._last, None, write.begins
        if begins is not None:
            place = [int(begins.index), int(begins.term), int(begins.crc)]
            self._records.append([int(What.BEGAN), self._now(), *place])
        if self._place.log.opened != last.opened:
            last.opened = self._place.log.opened
            self._records.append([int(What.OPENED), self._now(), *last.opened[1:]])
        if write.ballot != last.ballot:
            last.ballot = write.ballot
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
        self._records.append((_WROTE, self._now(), news, cut, first, terms, crcs))
        if len(self._records) > RECORDS_MAX:
            self.write()

    def saying(self, messages: Sequence[tuple[Replica, Message]]) -> None:
        """Note the messages that are about to be sent."""
        for peer, message in messages:
            if isinstance(message, AppendResponse):
                if message.ok and message.index:
                    self._ack(peer, message)
            elif isinstance(message, HeartbeatResponse) and message.promised_us:
                self._promise(peer, message)
            elif isinstance(message, RequestVoteResponse) and message.granted and not message.pre:
                vote = [int(peer), int(message.asked_term)]
                self._records.append([int(What.VOTE), self._now(), *vote])

    def _heard(self, peer: Replica, message: Message) -> None:
        """End a promise by the leader's message (membership.md M11 f)."""
        leader, term, _ = self._last.promised
        if isinstance(message, Resigned | TimeoutNow):
            leader, term = int(message.leader), int(message.term)
        elif isinstance(message, RequestVote):
            raft = self._machine.raft
            if not message.transfer or message.pre or raft.leader is None:
                return
            leader, term = int(raft.leader), int(raft.term)
        elif (
            not isinstance(message, RequestVoteResponse)
            or not message.granted
            or int(peer) != leader
        ):
            return  # a leader that votes for us has stepped down for us
        self._last.promised = (0, 0, 0)
        self._records.append([int(What.RELEASED), self._now(), leader, term])

    def _promise(self, peer: Replica, heard: HeartbeatResponse) -> None:
        """Write a promise down, unless it ends only a little later than the one before.

        What is written down is never longer than what was promised: it runs from the beginning of
        the batch, and the node read its own clock after that. A time in which the machine was
        suspended is in it as soon as it is in SLEPT.
        """
        lasts = heard.promised_us * 1000
        until = self._began + int(self._last.slept * _NANOS) + lasts
        leader, term, written = self._last.promised
        if (leader, term) != (int(peer), int(heard.term)) or until - written > lasts // 4:
            self._last.promised = (int(peer), int(heard.term), until)
            self._records.append([int(What.PROMISED), self._now(), *self._last.promised])

    def _ack(self, peer: Replica, message: AppendResponse) -> None:
        machine = self._machine
        index, log, written = (
            message.index,
            machine.replicated_log.log,
            machine.replicated_log.written,
        )
        if index > written and message.term < machine.raft.term:
            return  # of a term that is over: what it speaks of was cut meanwhile
        crc = None
        if index <= log.last:
            # An ack of an entry is one of all before it, of which the log knows this one exactly.
            index = log.known_below(index)
            crc = int(log.crc_at(index))
        place = (int(peer), int(message.term), int(index), crc)
        self._records.append((_ACK, self._now(), *place))

    def answering(self, ready: Ready) -> None:
        """Note the answers that clients are about to get."""
        replicated_log = self._machine.replicated_log
        if ready.settled:
            confirmed = replicated_log.limbo.confirmed
            done = [each.index for each in ready.settled if each.verdict is _COMMITTED]
            index = max((each for each in done if each <= confirmed), default=0)
            if index:
                self._records.append((_ANSWERED, self._now(), int(index)))
        if not ready.reads:
            return
        asked = [self._asked.pop(each.ticket, None) for each in ready.reads]
        known = [
            at
            for at, each in zip(asked, ready.reads, strict=True)
            if at is not None and each.refused is None
        ]
        if known:
            visible = replicated_log.visible
            sure, term = (
                int(min(visible, replicated_log.confirmed)),
                int(replicated_log.log.term_at(visible)),
            )
            served = (int(visible), max(known), sure, term)
            self._records.append((_SERVED, self._now(), *served))

    def write(self) -> None:
        """Write all that waits in one call. Without anything to send it need not be called."""
        if self._records:
            records, self._records = self._records, []
            self.file.write(records)
            if self.file.stopped:
                self._asked.clear()
                self.file.close()
                self._over(self.file.stopped)

    def close(self) -> None:
        """End the record of this life."""
        self.write()
        if not self.file.stopped:
            self.file.close()


def open_recorder(
    config: "NodeConfig",
    storage: "NodeStorage",
    core: "Core",
    *,
    elapsed: "ElapsedTime",
    over: Callable[[str], None],
) -> EventRecorder:
    """Begin the record of a new life of the node. Raises StoreError."""
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
    events = EventRecorder(core, file, EventPlace(storage.log, elapsed), over=over)
    events.started(storage.recovered.ballot, about)
    return events


def configuration(replicated_log: "ReplicatedLog") -> tuple[int, int, list[list[int]]]:
    """Return index and term of the configuration's entry, and its voters with their numbers."""
    followed = replicated_log.configurations.followed
    index = max((index for index, _ in replicated_log.configurations.standing()), default=0)
    voters = () if followed is None else followed.voters
    pairs = [[int(replica), number_of(instance)] for replica, instance in voters]
    return int(index), int(replicated_log.log.term_at(index)), pairs


def number_of(instance: Instance) -> int:
    """Return the number that stands for an instance in evidence."""
    return crc32(instance_text(instance).encode())


def _number(replica: Replica | None) -> int | None:
    return None if replica is None else int(replica)


def _packed(crcs: Iterable[int]) -> bytes:
    """Pack numbers as 32 bits each, the lowest byte first."""
    packed = array("I", crcs)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()
