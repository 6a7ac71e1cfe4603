"""Observes a simulated run and records what nodes do, as rows of evidence."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from typing_extensions import override

from admin.evidence.tables import Row
from election.messages import Ballot, Position, Replica, RequestVoteResponse
from qsync.core.consistency import Consistency
from qsync.core.inputs import ReadAsked
from qsync.core.logstart import LogStart
from qsync.core.messages import AppendResponse, Message
from qsync.core.ready import Settled, Write
from qsync.core.replicated_log import ReplicatedLog
from qsync.node import feed
from qsync.node.events import configuration, number_of
from qsync.node.feed import Filter
from qsync.record import Entry, Instance
from qsync.replica import Replica as Core
from qsync.sim.canon import PropertyViolation
from qsync.sim.invariants import Invariants
from qsync.sim.parts import Disk, NodePart
from qsync.sim.world import World

NANOS = 1_000_000_000
PACES = (5, 23)
"""A reader of the feed of changes for each: about one of so many events makes it ask again."""

Judge = Callable[[], None]


@dataclass(slots=True)
class _Shown:
    """The last status of a node in this life."""

    view: tuple[object, ...] = ()
    reached: int = 0
    led: int = 0
    followed: object = None


class SimulationRecorder:
    """Stands before the simulator's invariants and records what they see."""

    def __init__(self, honest: Invariants) -> None:
        self._honest = honest
        self.retained = self._honest.retained
        self.events: list[Row] = []
        self.status: list[Row] = []
        self.feeds: list[Row] = []
        self.world: World | None = None
        self.generations: Counter[Replica] = Counter()
        self._places = [0 for _ in PACES]
        self._lives: Counter[Replica] = Counter()
        self._shown: dict[Replica, _Shown] = {}
        self._disks: list[Disk] = []
        self._shelf: dict[Replica, int] = {}

    def opened(self, me: Replica, instance: Instance, disk: Disk) -> None:
        """Observe the node's disk, too. Every change of directories begins another generation."""
        self._honest.opened(me, instance, disk)
        self.generations[me] += 1
        if not any(disk is each for each in self._disks):
            self._disks.append(disk)
        self._shelf[me] = next(at for at, each in enumerate(self._disks) if each is disk)
        if disk.log.last:
            # Durable in this generation already: an earlier directory was put back.
            self._note_ballot(me, disk.log.recover().ballot)
            self._note_durable(me, self._honest.durable[me].entries)
        judge = disk.looks_on

        def saw(what: Write | LogStart) -> None:
            if isinstance(what, LogStart):
                # As if all up to there had been written (membership.md M6 e).
                self.judge(lambda: judge(what))
                self._note_durable(me, self._honest.durable[me].entries)
            else:
                self._wrote(me, what)
                self.judge(lambda: judge(what))

        disk.looks_on = saw

    def judge(self, ask: Judge) -> None:
        """Check the properties. Raises Violation."""
        ask()

    def started(self, me: Replica, core: Core) -> None:
        """Record a new life."""
        self._lives[me] += 1
        self._shown[me] = _Shown()
        self._note(me, "started", index=int(core.machine.replicated_log.log.last))
        number = number_of(core.machine.config.instance)
        self._note(me, "opened", index=self._shelf[me], peer=0, floor=number)
        self.judge(lambda: self._honest.started(me, core))

    def said(self, me: Replica, core: Core, peer: Replica, message: Message) -> None:
        """Record votes and acks."""
        if isinstance(message, RequestVoteResponse) and message.granted and not message.pre:
            self._note(me, "vote", term=int(message.asked_term), peer=int(peer))
        elif isinstance(message, AppendResponse) and message.ok:
            log = core.machine.replicated_log.log
            index, crc = message.index, None
            if index <= log.last:
                # An ack of an entry is one of all before it, of which it knows this one exactly.
                index = log.known_below(index)
                crc = int(log.crc_at(index))
            known = {"term": int(message.term), "index": int(index), "crc": crc}
            self._note(me, "ack", **known, peer=int(peer))
        self.judge(lambda: self._honest.said(me, core, peer, message))

    def turned(self, me: Replica, core: Core, *, looked: float) -> None:
        """Record the status, if it changed, and the confirmed index.

        Its time is `looked`, as the time of a status that was asked for is that of the request: a
        process may stop between that moment and the end of its turn, and knows of none of it.
        """
        raft, replicated_log = core.machine.raft, core.machine.replicated_log
        reasons = core.machine.reasons()
        limbo = (
            replicated_log.visible,
            len(replicated_log.limbo.queue),
            replicated_log.limbo.owner.owner,
        )
        view = (
            raft.role.value,
            raft.term,
            replicated_log.log.last,
            replicated_log.confirmed,
            not reasons,
            limbo,
        )
        shown = self._shown[me]
        if core.machine.state.led != shown.led:
            shown.led = core.machine.state.led
            self._note(me, "leads", term=int(shown.led))
        if view != shown.view:
            shown.view = view
            # Within a pass a process is ahead of the others by what its own calls take.
            self._sample(me, core, min(int(looked * NANOS), self._now()), ro=bool(reasons))
        if replicated_log.configurations.followed is not shown.followed:
            shown.followed = replicated_log.configurations.followed
            self._configured(me, replicated_log)
        if replicated_log.confirmed > shown.reached:
            index = replicated_log.confirmed
            shown.reached = int(index)
            term, crc = (
                int(replicated_log.log.term_at(index)),
                int(replicated_log.log.crc_at(index)),
            )
            quorum = core.machine.config.quorum
            self._note(me, "confirmed", index=int(index), term=term, crc=crc, floor=quorum)
            self._feed(me, core)
        self.judge(lambda: self._honest.turned(me, core, looked=looked))

    @property
    def floor(self) -> Position:
        """The newest entry that was answered to any client as committed."""
        return self._honest.floor

    def settled(
        self, me: Replica, core: Core, request: tuple[bytes, int], settled: Settled
    ) -> None:
        """Record the outcome that a client is about to get."""
        self.judge(lambda: self._honest.settled(me, core, request, settled))

    def served(self, me: Replica, core: Core, asked: ReadAsked, floor: Position) -> None:
        """Record the read that a client is about to get."""
        fresh = asked.consistency is Consistency.LEASE and self._honest.promises.lease_checked
        if fresh or asked.consistency is Consistency.LINEARIZABLE:
            visible = int(core.machine.replicated_log.visible)
            term = int(core.machine.replicated_log.log.term_at(visible))
            self._note(me, "served", index=visible, term=term, floor=int(floor.index))
        self.judge(lambda: self._honest.served(me, core, asked, floor))

    def folded(self, me: Replica, core: Core) -> None:
        """Record that rows went to its disk."""
        self.judge(lambda: self._honest.folded(me, core))

    def check_fold(self, node: NodePart) -> None:
        """Check that the rows on a disk are the replay of the log."""
        self.judge(lambda: self._honest.check_fold(node))

    def at_rest(self) -> str | None:
        """Return what is not equal everywhere yet; nothing where it never will be."""
        said: list[str | None] = [None]
        self.judge(lambda: said.append(self._honest.at_rest()))
        return said[-1]

    def _wrote(self, me: Replica, write: Write) -> None:
        self._note_ballot(me, write.ballot)
        if write.cut_above is not None:
            self._note(me, "cut", index=int(write.cut_above))
        self._note_durable(me, write.entries)

    def _configured(self, me: Replica, replicated_log: ReplicatedLog) -> None:
        index, term, voters = configuration(replicated_log)
        place = {"index": index, "term": term}
        self._note(me, "configured", **place, floor=len(voters))
        for replica, instance in voters:
            self._note(me, "voter", **place, peer=replica, floor=instance)

    def _note_ballot(self, me: Replica, ballot: Ballot) -> None:
        self._note(me, "ballot", term=int(ballot.term), peer=_number(ballot.vote))

    def _note_durable(self, me: Replica, entries: Sequence[Entry]) -> None:
        for each in entries:
            self._note(me, "durable", index=int(each.index), term=int(each.term), crc=int(each.crc))

    def _now(self) -> int:
        return 0 if self.world is None else int(self.world.clockwork.now * NANOS)

    def _whose(self, me: Replica) -> Row:
        return {"node": int(me), "generation": self.generations[me], "life": self._lives[me]}

    def _note(self, me: Replica, name: str, **known: int | None) -> None:
        row = self._whose(me) | {"name": name}
        self.events.append(row | {"number": len(self.events), "time_mono": self._now()} | known)

    def _sample(self, me: Replica, core: Core, time: int, *, ro: bool) -> None:
        raft, replicated_log = core.machine.raft, core.machine.replicated_log
        row = self._whose(me) | {
            "sample": len(self.status),
            "time_mono": time,
            "role": raft.role.value,
            "term": int(raft.term),
            "vote": _number(raft.ballot.vote),
            "leader": _number(raft.leader),
            "ro": ro,
            "last": int(replicated_log.log.last),
            "crc": int(replicated_log.log.crc_at(replicated_log.log.last)),
            "written": int(replicated_log.written),
            "confirmed": int(replicated_log.confirmed),
            "visible": int(replicated_log.visible),
            "limbo_owner": int(replicated_log.limbo.owner.owner),
            "limbo_term": int(replicated_log.limbo.owner.term),
            "limbo_len": len(replicated_log.limbo.queue),
            "quorum": core.machine.config.quorum,
            "voters": len(configuration(replicated_log)[2]),
        }
        self.status.append(row)

    def _feed(self, me: Replica, core: Core) -> None:
        """Record a feed: readers ask any node, and continue at the next one."""
        for reader, pace in enumerate(PACES, 1):
            after = self._places[reader - 1]
            if len(self.events) % pace or core.machine.replicated_log.confirmed <= after:
                continue
            if core.lost is not None or after < core.machine.replicated_log.log.start.index:
                continue  # it asks another node
            found = feed.read(
                core.machine.replicated_log, core.state.schemas.shown, after, Filter()
            )
            self._places[reader - 1] = found.upto
            row: Row = {"reader": reader, "number": len(self.feeds), "node": int(me)}
            places = [each[:2] for each in found.transactions]
            self.feeds.append(row | {"after": after, "upto": found.upto, "places": places})


class EvidenceObserver(SimulationRecorder):
    """Records everything and stops nothing: only the evidence may show what was wrong.

    `noticed`: what the simulator would have stopped at. From there on its properties are not
    asked any more, since they count on one another.
    """

    def __init__(self, honest: Invariants) -> None:
        super().__init__(honest)
        self.noticed: PropertyViolation | None = None

    @override
    def judge(self, ask: Judge) -> None:
        """Check the properties until one is broken."""
        if self.noticed is not None:
            return
        try:
            ask()
        except PropertyViolation as violation:
            self.noticed = violation


def _number(replica: Replica | None) -> int | None:
    return None if replica is None else int(replica)
