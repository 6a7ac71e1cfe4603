"""The ten properties of protocol.md section 9, asserted after every event of a run."""

from collections.abc import Callable, Container

from typing_extensions import override

from election.messages import Index, Position, Replica, RequestVoteResponse
from election.quorum import majority
from election.roles import Role
from qsync.core.configuration import Codec, Configuration, configuration_of
from qsync.core.generation import generation_of
from qsync.core.inputs import ReadAsked
from qsync.core.logstart import LogStart
from qsync.core.messages import Message
from qsync.core.ready import Settled, Write
from qsync.core.replicated_log import ReplicatedLog
from qsync.record import Entry, Instance
from qsync.replica import Replica as Core
from qsync.sim import properties, snapshots
from qsync.sim.canon import PropertyViolation, ReferenceLog, ReferenceRecords
from qsync.sim.configurations import ConfigurationRules
from qsync.sim.generations import RecoveredCluster
from qsync.sim.lives import DurableLog, LifeCursor, acks, shows, votes
from qsync.sim.operations import Token
from qsync.sim.parts import Disk, NodePart
from qsync.sim.promises import ClientPromises
from qsync.sim.replayed import StoredRows
from qsync.sim.retained import RetentionRules
from qsync.store.memory import MemoryLog


class DirectoryWitness(DurableLog):
    """What one directory holds, by what its disk told of every write."""

    def __init__(
        self,
        me: Replica,
        canon: ReferenceLog,
        past: Callable[[LogStart], tuple[list[Entry], Index, int]],
    ) -> None:
        """`past`: the log up to an entry that some directory has, and where it begins."""
        super().__init__(me)
        self._canon = canon
        self._past = past
        self.confirmed_max = 0

    @override
    def cut(self, above: Index) -> None:
        """Property 6."""
        first = above + 1
        # What this node confirmed meanwhile may be another entry, which the same write brings.
        known = above < self.last and first <= self.confirmed_max
        if known and self.entries[above - self.base].crc == self._canon.crc_at(first):
            raise PropertyViolation(
                6, f"disk {self.me} cut {first}, {self.confirmed_max} was confirmed"
            )
        super().cut(above)

    def saw(self, what: Write | LogStart) -> None:
        """Something became durable there."""
        if isinstance(what, LogStart):
            self.began(what)
        else:
            self.wrote(what)

    def began(self, start: LogStart) -> None:
        """The log begins behind a snapshot: as if all up to there had been written (M6 e)."""
        has = start.index and self.holds(start.index, start.crc)
        dropped = self.last - start.index if has else 0
        snapshots.keeps_what_follows(self.me, start, dropped=dropped)
        self.cut(Index(min(self.last, self.confirmed_max)))
        self.entries, self.base, self.base_crc = self._past(start)

    def reopened(self, log: MemoryLog) -> None:
        """A process found this at its start; whole entries of a torn write may have stayed.

        What was trimmed is kept here.
        """
        self.entries[log.start.index - self.base :] = log.entries(log.begins, log.last)
        assert self.last == log.last


class NodeCursor:
    """How far a node has been looked at in this life: its log, what it confirmed and shows."""

    __slots__ = ("begins", "confirmed", "last", "life", "promoted", "trimmed", "visible")

    def __init__(self, core: Core) -> None:
        self.life = LifeCursor(core)
        self.begins = 0
        self.trimmed = core.machine.replicated_log.log.start.index
        """Where the log began at the start, or begins since it was looked at."""
        self.last = 0
        self.confirmed = 0
        self.visible = 0
        self.promoted = 0


class Invariants:
    """Looks on at every event; raises Violation at the first that breaks a property."""

    def __init__(self, *, lease_checked: bool) -> None:
        self.books = ReferenceRecords()
        self.canon = ReferenceLog(self.books)
        self.promises = ClientPromises(self.books, self.canon, lease_checked=lease_checked)
        self.nodes: list[NodePart] = []
        """Those that take part."""
        self.durable: dict[Replica, DirectoryWitness] = {}
        """Of the directory that a node has now."""
        self.leaders: dict[int, Replica] = {}
        self._marks: dict[Replica, NodeCursor] = {}
        self._decided_in = [0]
        self._folds = 0
        self.rules = ConfigurationRules()
        """Those of who belongs to the cluster."""
        self.starts = snapshots.LogStarts[DirectoryWitness](self.canon, self.rules)
        """Those of where logs begin, and all directories that there ever were."""
        rows = StoredRows(self.books, self.canon)
        self.retained = RetentionRules(self.starts, rows, self.books)
        """Those of what may be trimmed."""

    def opened(self, me: Replica, instance: Instance, disk: Disk) -> None:
        """A node has that directory; what was on another one counts for that one only."""
        pair = (me, instance)
        directories = self.starts.directories
        if pair not in directories:
            directories[pair] = DirectoryWitness(me, self.canon, self.starts.past_of)
        self.durable[me] = directories[pair]
        disk.looks_on = self.durable[me].saw

    # -- what nodes report

    def started(self, me: Replica, core: Core) -> None:
        """A new life: what is volatile may have gone back to what is durable."""
        self.durable[me].reopened(self.nodes[me - 1].disk.log)
        self._marks[me] = NodeCursor(core)

    def said(self, me: Replica, core: Core, peer: Replica, message: Message) -> None:
        """Properties 5, 7, 21: votes are durable and stand, acks are of what is durable."""
        disk = self.durable[me]
        self.rules.sent(me, core, peer, message)
        acks(me, message, core.machine.replicated_log, disk)
        if votes(me, peer, message, disk):
            assert isinstance(message, RequestVoteResponse)
            pair = (message.asked_term, me, core.machine.config.instance)
            before = self.rules.votes.setdefault(pair, peer)
            properties.vote_stands(me, message.asked_term, before, peer)

    def turned(self, me: Replica, core: Core, *, looked: float) -> None:
        """Something happened to a node. The machine has decided; nothing has been answered yet."""
        del looked
        replicated_log = core.machine.replicated_log
        mark = self._marks[me]
        if replicated_log.cuts != mark.life.cuts:
            mark.last = mark.visible = mark.confirmed
            mark.trimmed = replicated_log.log.start.index
        mark.life.look(me, core)
        if replicated_log.log.start.index > mark.trimmed:
            mark.trimmed = replicated_log.log.start.index
            self.retained.forgot(me, core)
        self._begins(me, replicated_log, mark)
        self._enter(me, core, mark)
        self.rules.look(me, core)
        raft = core.machine.raft
        if core.machine.state.led != mark.promoted:
            mark.promoted = core.machine.state.led
            properties.one_leader(mark.promoted, self.leaders.setdefault(mark.promoted, me), me)
            if core.machine.leader is not None:
                self.rules.elected(me, core, mark.promoted)
        if raft.role is Role.LEADER:
            self._leads(me, core, raft.term)
        if replicated_log.confirmed != mark.confirmed:
            self._confirmed(me, core, replicated_log, mark)
        if replicated_log.visible != mark.visible:
            self._visible(me, core, replicated_log, mark)

    def _enter(self, me: Replica, core: Core, mark: NodeCursor) -> None:
        """Property 1 of new entries; and of those that nobody has had before, 15 and 17."""
        replicated_log = core.machine.replicated_log
        if replicated_log.log.last <= mark.last:
            return
        for entry in replicated_log.entries(Index(mark.last + 1), replicated_log.log.last):
            known = (entry.index, entry.term) in self.books.places
            self.books.enter(me, entry, replicated_log.log)
            if not known and entry.origin == me:
                self.promises.sessions.numbered((entry.index, entry.term))
                self.promises.rights.appended(entry, replicated_log)
                self.retained.appended(core, entry)
        mark.last = replicated_log.log.last

    def _begins(self, me: Replica, replicated_log: ReplicatedLog, mark: NodeCursor) -> None:
        """Where its log begins, once it does; what is before that is known elsewhere."""
        start = replicated_log.log.start
        if start.index == mark.begins:
            return
        mark.begins = start.index
        mark.last, mark.visible = max(mark.last, start.index), max(mark.visible, start.index)
        who = f"the log of node {me}"
        self.starts.check(who, start, replicated_log.configurations.codec)

    def _leads(self, me: Replica, core: Core, term: int) -> None:
        """Property 3."""
        leader = core.machine.leader
        if leader is not None and leader.term == term and leader.established:
            self.promises.leads(me, term, leader.promoted_at, core.machine.replicated_log)

    def _confirmed(
        self, me: Replica, core: Core, replicated_log: ReplicatedLog, mark: NodeCursor
    ) -> None:
        """Properties 2 and 7."""
        before, now = mark.confirmed, replicated_log.confirmed
        canon, log = self.canon, replicated_log.log
        if now > canon.last:
            self._check_quorum(me, now, replicated_log)
            self._decided_in += [core.machine.term] * (now - canon.last)
            for index in canon.extend(log, now):
                self.promises.gone(index)
        for index in range(max(before, mark.begins) + 1, now + 1):
            term = log.term_at(index)
            properties.one_order(me, index, term=term, elsewhere=canon.terms[index])
            if self.books.places[index, term].kind in properties.DECIDED:
                here = replicated_log.limbo.stretch_at(index) is not None
                properties.one_fate(me, index, gone=here, elsewhere=canon.rolled_back[index])
        mark.confirmed = now
        durable = self.durable[me]
        durable.confirmed_max = max(durable.confirmed_max, now)

    def _check_quorum(self, me: Replica, index: int, replicated_log: ReplicatedLog) -> None:
        """Of the directories that the configuration names, those that were lost since included."""
        configuration, crc = (
            replicated_log.configurations.in_force,
            replicated_log.log.crc_at(index),
        )
        assert configuration is not None
        voters, directories = configuration.voters, self.starts.directories
        have = [
            pair[0]
            for pair in voters
            if pair in directories and directories[pair].holds(index, crc)
        ]
        properties.on_quorum(me, index, have, majority(len(voters)))

    def _visible(
        self, me: Replica, core: Core, replicated_log: ReplicatedLog, mark: NodeCursor
    ) -> None:
        """Properties 4 and 8."""
        now, log, limbo = replicated_log.visible, replicated_log.log, replicated_log.limbo
        shows(me, replicated_log, Index(mark.visible), self.durable[me])
        for index in range(mark.visible + 1, now + 1):
            if limbo.stretch_at(index) is not None:
                continue
            term = log.term_at(index)
            self.promises.shown(me, index, term)
            if index <= self.canon.last and self._decided_in[index] <= core.machine.term:
                properties.shown_is_leaders(me, index, term, elsewhere=self.canon.terms[index])
        mark.visible = now

    def forget(self, start: LogStart, codec: Codec, remembered: Container[Token]) -> None:
        """At rest, when every log begins there or later: keep what stands for all before that."""
        self.starts.begin(start, codec, [(each.me, each.instance) for each in self.nodes])
        self.canon.forget(start.index, remembered)
        self.books.forget(start.index, self.canon)
        self.promises.forget(start.index)
        self.retained.rows.forget(start.index)
        terms = [int(each.core.machine.term) for each in self.nodes]
        self.rules.forget(min(terms))
        self.leaders = {term: me for term, me in self.leaders.items() if term >= min(terms)}

    def begin_anew(self, made: RecoveredCluster, remembered: Container[Token]) -> int:
        """A cluster of one survivor goes on: that one's log is all there is of the old one (M8).

        Returns how many entries that were confirmed the new one lacks, or has with another fate.
        """
        me, log, begins = made.member.replica, made.log.log, made.begins
        properties.terms_are_new(me, term=made.term, seen=made.seen)
        before = self.canon.last
        behind = max(before, log.last) + 1
        stands = self.canon.begin_anew(log, log.last)
        properties.survivor_keeps(me, confirmed=made.log.confirmed, stands=stands)
        properties.whole_log_counts(
            me, begins=begins.index, wanted=self.canon.out_of_stretch(made.wanted)
        )
        codec, alone = made.log.configurations.codec, Configuration((made.member,))
        first = configuration_of(begins.configuration, codec)
        properties.alone_at_first(me, voters=first, wanted=alone)
        self.canon.end_at(begins.index)
        self._decided_in = [*self._decided_in[: stands + 1], *[int(made.term)] * log.last]
        del self._decided_in[begins.index + 1 :]
        self.books.keep_terms(set(self.canon.terms))
        self.promises.begin_anew(Position(begins.term, begins.index), generation_of(made.term))
        pairs = [(each.me, each.instance) for each in self.nodes]
        self.starts.begin_anew(made.ended, begins, codec, pairs)
        self.rules.begin_anew(alone)
        self.retained.rows.forget(behind)
        self.retained.rows.check(f"the cluster made of node {me}", begins.index, made.rows.scan)
        self.canon.forget(begins.index, remembered)
        self.books.forget(begins.index, self.canon)
        return before - min(before, stands, begins.index)

    # -- clients

    @property
    def floor(self) -> Position:
        """The newest entry that was answered to anybody as committed."""
        return self.promises.floor

    def settled(
        self, me: Replica, core: Core, request: tuple[bytes, int], settled: Settled
    ) -> None:
        """A client is about to be told of its request."""
        ledgers = {each.me: each.core.machine.replicated_log for each in self.nodes if each.up}
        self.promises.sessions.answers(me, request, settled, core.machine.term)
        self.promises.settled((me, core.machine.replicated_log), request, settled, ledgers)

    def served(self, me: Replica, core: Core, asked: ReadAsked, floor: Position) -> None:
        """A client is about to be shown; `floor` had been answered when its read came."""
        self.promises.served((me, core.machine.replicated_log), asked, floor)

    # -- spaces

    def folded(self, me: Replica, core: Core) -> None:
        """Property 10, for some of the folds."""
        self._folds += 1
        node = self.nodes[me - 1]
        if node.disk.spaces.folded > core.machine.replicated_log.confirmed:
            raise PropertyViolation(10, f"node {me} folded above its confirmed index")
        if self._folds % FOLDS_SKIPPED == 0:
            self.check_fold(node)

    def check_fold(self, node: NodePart) -> None:
        """The rows on disk are the replay of the log up to the folded index."""
        spaces = node.disk.spaces
        self.retained.rows.check(f"node {node.me}", spaces.folded, spaces.scan)

    def at_rest(self) -> str | None:
        """After healing: what is not yet equal everywhere; None when all is."""
        lost = [each.me for each in self.nodes if each.core.lost is not None]
        if lost:
            return f"{lost} make their rows anew"
        views = {}
        for each in self.nodes:
            replicated_log = each.core.machine.replicated_log
            views[each.me] = (
                replicated_log.visible,
                replicated_log.log.last,
                replicated_log.log.crc_at(replicated_log.log.last),
            )
        if len(set(views.values())) > 1:
            return f"visible index, last index and checksum differ: {views}"
        digests = {each.me: each.core.state.digests() for each in self.nodes}
        first = next(iter(digests.values()))
        if any(each != first for each in digests.values()):
            raise PropertyViolation(
                2, f"replicas at index {next(iter(views.values()))} differ: {digests}"
            )
        return None


FOLDS_SKIPPED = 16
"""One of so many folds is compared with the replay of the log; the last one always is."""
