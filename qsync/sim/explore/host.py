"""A node of the explored cluster: its process, its disk, its connections and its diary."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple

from election.messages import Index, Replica, RequestVoteResponse
from qsync import upgrading
from qsync.core.inputs import Connected, Input, SnapshotReceived, SupersededBy, Written
from qsync.core.logindex import LogIndex
from qsync.core.messages import Append, InstallSnapshot, Message
from qsync.core.ready import ReadSettled, Ready, TransactionFate
from qsync.core.replicated_log import ReplicatedLog
from qsync.data import body
from qsync.errors import WrongVersion
from qsync.record import WAIT_ACK, Entry, Instance
from qsync.sim import lives, properties
from qsync.sim.explore.answers import OPERATOR, PROMOTER, RECEIPTS
from qsync.sim.explore.diary import GhostState
from qsync.sim.explore.examine import NodeBefore
from qsync.sim.explore.plan import StartPlan
from qsync.sim.explore.platter import Letters
from qsync.sim.generations import ExploredCluster
from qsync.sim.trace import TraceColumns, columns_of


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotLetter(InstallSnapshot):
    """The log that the rows of a snapshot represent; only the properties use it."""

    history: tuple[Entry, ...]


class TurnOutput:
    """The output of a turn: sent letters, and counted events."""

    __slots__ = ("batch", "due", "happened", "letters")

    def __init__(self) -> None:
        self.batch = 0
        """How many started acts the turn still belongs to."""
        self.due: list[tuple[int, str | None]] = []
        """Refusals that waited, and why they must not be answered."""
        self.letters: Letters = []
        self.happened: list[str] = []


class PeerConnection(NamedTuple):
    """A connected peer: its directory, its cluster, and the features of its release."""

    peer: Replica
    instance: Instance
    features: frozenset[str]
    cluster: ExploredCluster


class ExploredNode:
    """All parts of one node.

    A turn is one input, and all actions that the node requests after it.
    """

    def __init__(self, plan: StartPlan) -> None:
        self.plan = plan
        self.me = plan.me
        self.now = 0.0
        self.platter = plan.platter()
        self.lives = 1
        self.diary = GhostState(plan.me)
        self.diary.release.features = plan.config.features
        self.core = plan.boot(self.platter, self.lives, plan.config.features)
        self.armed: set[str] = set()
        self.epochs: dict[Replica, int] = dict.fromkeys(plan.peers, 0)
        self.drifted = False
        """Its clock was fast or slow for a while, by the maximum drift."""
        self._told = TurnOutput()
        self._mark = NodeBefore(self)

    @property
    def replicated_log(self) -> ReplicatedLog:
        """Log and fates, as this process knows them."""
        return self.core.machine.replicated_log

    def history(self) -> list[Entry]:
        """The whole log, with trimmed entries and entries of a snapshot; for the properties."""
        replicated_log, start = self.replicated_log, self.replicated_log.log.start
        behind = replicated_log.entries(Index(start.index + 1), replicated_log.log.last)
        return [*self.platter.past(start), *behind]

    def whole(self) -> LogIndex:
        """Of the whole log."""
        log = self.replicated_log.log
        if log.start.index:
            log = LogIndex()
            for entry in self.history():
                log.push(entry)
        return log

    # -- lives

    def restart(self, peers: Iterable[PeerConnection]) -> None:
        """A new process on the same disk, connected to these peers."""
        self.armed, self.epochs = set(), dict.fromkeys(self.epochs, 0)
        self.diary.answers.restarts()
        self.lives += 1
        release = self.diary.release
        self.core = self.plan.boot(self.platter, self.lives, release.features)
        release.barred = release.foreign = frozenset()
        self.core.clock(self.now)
        self.core.start()
        if self.platter.superseded:
            # The product refuses to start; the mutant starts.
            self.step(SupersededBy(cluster=self.platter.superseded))
        for peer in peers:
            self.connect(peer)

    def connect(self, to: PeerConnection) -> None:
        """A new connection is established."""
        peer, instance, known, cluster = to
        self.epochs[peer] += 1
        if not self.plan.generations.lets_in(self.platter.cluster, cluster):
            self.diary.release.foreign |= {peer}
            self.happened("refused a foreign cluster")
            return
        self.diary.release.foreign -= {peer}
        try:
            upgrading.admit(self.core.settings, "a peer", known)
        except WrongVersion:
            self.diary.release.barred |= {peer}
            return
        self.diary.release.barred -= {peer}
        epoch = self.epochs[peer]
        self.step(Connected(peer=peer, epoch=epoch, instance=instance, features=known))

    def greeting(self) -> PeerConnection:
        """Its greeting to a connecting peer."""
        platter = self.platter
        known = self.diary.release.features
        return PeerConnection(self.me, platter.instance, known, platter.cluster)

    # -- turns

    def begin(self, *, later: float = 0.0) -> None:
        """A turn begins, this many seconds after the last one; or continues, in a batch."""
        if self._told.batch == 0:
            self._told, self._mark = TurnOutput(), NodeBefore(self)
        self.now += later
        self.core.clock(self.now)

    @contextmanager
    def batch(self) -> Iterator[None]:
        """All inputs inside belong to one turn."""
        self.begin()
        self._told.batch += 1
        yield
        self._told.batch -= 1

    def step(self, event: Input) -> None:
        """Something happens."""
        self.core.step(event)

    def operator_asks(self, event: Input) -> None:
        """One more client waits for an answer."""
        self.diary.answers.operators += 1
        self.step(event)

    def end(self, refusal_due: "RefusalDue") -> TurnOutput:
        """Execute the node's requested actions.

        Raises Violation if the node violates a property.
        """
        self._fulfil(self.core.ready())
        while self._goes_on(refusal_due):
            self._fulfil(self.core.ready())
        self.core.absorb()
        self._mark.compare(self)
        told, self._told = self._told, TurnOutput()
        return told

    def _goes_on(self, refusal_due: "RefusalDue") -> bool:
        """Whether actions are left in this turn."""
        due, self._told.due = self._told.due, []
        for ticket, refused in due:
            refusal_due(self, ticket, refused)
        if self.platter.write is None or self.plan.slow_disk:
            return bool(due)
        self.land()
        return True

    def land(self) -> None:
        """The pending write is durable."""
        write, letters = self.platter.land()
        if self.core.machine.disk.superseded is None:
            for peer, message in letters:
                self._send(peer, message)
        self.step(Written(id=write.id))

    def happened(self, what: str) -> None:
        """Something worth counting."""
        self._told.happened.append(what)

    def _fulfil(self, ready: Ready) -> None:
        for peer, message in ready.send_now:
            lives.acks(self.me, message, self.replicated_log, self.platter)
            self._send(peer, self._filled(message))
        for _, message in ready.send_after:
            lives.acks(self.me, message, self.replicated_log, self.platter)
        letters = [(peer, self._filled(message)) for peer, message in ready.send_after]
        if ready.write is not None:
            self.platter.begin(self.plan.seal(ready.write), letters)
        else:
            for peer, message in letters:
                self._send(peer, message)
        for timer in ready.timers:
            self.armed.add(timer.kind)
            if timer.earliest is None:
                self.armed.discard(timer.kind)
        for note in ready.notes:
            self.happened(note.name)
        self.answer(ready)
        if ready.snapshot is not None:
            assert isinstance(ready.snapshot, SnapshotLetter)
            self.platter.snapshot = ready.snapshot.history
            self.step(SnapshotReceived(offer=ready.snapshot))
            self._fulfil(self.core.ready())

    def answer(self, ready: Ready) -> None:
        """Answer the waiting client or operator."""
        replicated_log, answers = self.replicated_log, self.diary.answers
        if self.platter.superseded:
            _serves_nothing(self, ready)
        for settled in ready.settled:
            entries = self.history()[settled.index - 1 : settled.index]
            sync = bool(entries) and bool(entries[0].flags & WAIT_ACK)
            asked = answers.asked.get(settled.ticket)
            if asked is not None and settled.verdict is TransactionFate.COMMITTED:
                session, seq, *_ = body.decode(entries[0].body)
                properties.own_request(asked[:2], (session, seq))
            answers.tells(replicated_log, settled, sync=sync)
            self.happened(f"told {settled.verdict.value}")
        for read in ready.reads:
            if read.ticket >= OPERATOR:
                answers.operators -= 1
                if read.ticket == PROMOTER and read.refused is None:
                    leader = self.core.machine.leader
                    leads = leader is not None and leader.established
                    properties.promoted(self.me, leads=leads)
            elif read.ticket in answers.refusals:
                self._told.due.append((read.ticket, read.refused))
            elif read.ticket in answers.floors:
                _answer_read(self, read)

    def _filled(self, message: Message) -> Message:
        if isinstance(message, InstallSnapshot):
            return SnapshotLetter(
                term=message.term,
                leader=message.leader,
                epoch=message.epoch,
                start=message.start,
                history=tuple(self.history()[: message.start.index]),
            )
        if not isinstance(message, Append) or message.last == message.prev_index:
            return message
        entries = self.core.machine.entries(Index(message.prev_index + 1), message.last)
        return replace(message, entries=tuple(entries))

    def _send(self, peer: Replica, message: Message) -> None:
        if self.platter.superseded:
            properties.superseded_is_silent(self.me, f"sends a {type(message).__name__}")
        if lives.votes(self.me, peer, message, self.platter):
            assert isinstance(message, RequestVoteResponse)
            self.diary.votes(message.asked_term, peer)
        barred = peer in self.diary.release.shut_out
        if type(message).__name__ not in self.plan.unheard and not barred:
            self._told.letters.append((peer, message))

    # -- the trace

    def sight(self) -> TraceColumns:
        """Its columns in a line of the trace."""
        return columns_of(self.me, self.core)

    def look(self) -> tuple[object, ...]:
        """A summary of the state that does not change when the nodes are renamed."""
        raft, replicated_log, platter = self.core.machine.raft, self.replicated_log, self.platter
        return (
            *self.sight()[1:],
            tuple([int(each.term) for each in self.history()]),
            int(replicated_log.log.start.index),
            (raft.leader == self.me, raft.leader is None),
            (raft.ballot.vote == self.me, raft.ballot.vote is None),
            (len(platter.entries), platter.ballot.term, platter.write is None),
            tuple(sorted(self.armed)),
            self.core.machine.follower.matched,
        )


def _answer_read(host: ExploredNode, read: ReadSettled) -> None:
    """The request is answered, or will never be."""
    answers = host.diary.answers
    if read.refused is not None:
        del answers.floors[read.ticket]
    elif read.ticket in RECEIPTS:
        answers.serves(read.ticket, host.history())
        host.happened("receipt served")
    else:
        answers.reads(read.ticket, host.replicated_log)
        host.happened("read")


def _serves_nothing(host: ExploredNode, ready: Ready) -> None:
    """Answers of a superseded node."""
    if ready.settled:
        properties.superseded_is_silent(host.me, "answers clients with the outcome of their writes")
    if any(read.refused is None for read in ready.reads):
        properties.superseded_is_silent(host.me, "serves a read, or does what it is asked")
    if host.core.machine.leader is not None:
        properties.superseded_is_silent(host.me, "leads")


RefusalDue = Callable[[ExploredNode, int, str | None], None]
"""The round of a ticket with a waiting refusal ended; and why it was refused, if it was."""
