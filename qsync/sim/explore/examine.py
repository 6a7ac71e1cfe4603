"""Properties of a single node: checked after each turn, and recorded in its diary."""

from collections.abc import Mapping
from typing import Protocol

from election.messages import Index, Replica, Term
from election.ready import ElectionTimer
from qsync.core.configuration import Configuration, Configurations, all_of
from qsync.core.logindex import LogIndex
from qsync.core.promotion import PromotionPhase
from qsync.core.ready import TimerKind
from qsync.core.replicated_log import ReplicatedLog
from qsync.core.stopping import Demotion, LeadershipTransfer
from qsync.record import Entry, EntryKind
from qsync.replica import Replica as Core
from qsync.sim import properties
from qsync.sim.canon import ReferenceLog, ReferenceRecords
from qsync.sim.explore.diary import CountedPlace, GhostState
from qsync.sim.explore.plan import StartPlan
from qsync.sim.generations import ExploredCluster
from qsync.sim.lives import DurableView, LifeCursor, shows


class ClusterDisk(DurableView, Protocol):
    """A disk with its owner."""

    cluster: ExploredCluster


class ExaminedNode(Protocol):
    """The examined node; see `qsync.sim.explore.host`."""

    me: Replica
    core: Core
    diary: GhostState
    armed: set[str]

    @property
    def platter(self) -> ClusterDisk:
        """Its disk."""

    @property
    def replicated_log(self) -> ReplicatedLog:
        """Log and outcomes, as this process knows them."""

    @property
    def plan(self) -> StartPlan:
        """The id of the cluster that it was founded in."""

    def history(self) -> list[Entry]:
        """The whole log, including entries before its beginning."""

    def whole(self) -> LogIndex:
        """The last index of the whole log."""

    def happened(self, what: str) -> None:
        """Count an event."""


class NodeBefore:
    """A node before its turn."""

    __slots__ = ("confirmed", "led", "life", "replicated_log")

    def __init__(self, host: ExaminedNode) -> None:
        self.replicated_log = host.replicated_log
        self.confirmed = host.replicated_log.confirmed
        self.life = LifeCursor(host.core)
        self.led = _leads_in(host)

    def compare(self, host: ExaminedNode) -> None:
        """The properties of one life, unless it is new; then the properties of every state."""
        replicated_log = host.replicated_log
        if replicated_log is self.replicated_log:
            self.life.look(host.me, host.core)
        leader = host.core.machine.leader
        if leader is not None:
            host.diary.leads(leader.term, leader.promoted_at)
        if replicated_log is not self.replicated_log or replicated_log.confirmed != self.confirmed:
            _confirms(host, replicated_log)
            # A node that confirms its own removal may resign in the same turn.
            if host.plan.changing and host.core.machine.term in (self.led, _leads_in(host)):
                _counted(host, replicated_log, since=self.confirmed)
        if replicated_log.log.start.index:
            _counts(host)
        _shows(host, replicated_log)
        _operations(host)


def _leads_in(host: ExaminedNode) -> Term | None:
    """The term that it leads."""
    leader = host.core.machine.leader
    return None if leader is None else leader.term


def _operations(host: ExaminedNode) -> None:
    """Property 13: every operation has a deadline, and knows its waiting clients."""
    operations, leader = host.core.machine.operations, host.core.machine.leader
    promotion, stopping = operations.promotions.current, leader.stopping if leader else None
    waiting = operations.changes.waits + len(operations.rolling_back)
    if promotion is not None:
        waiting += len(promotion.tickets)
        if promotion.phase in _ENDS_OF_PROMOTIONS:
            by = _ENDS_OF_PROMOTIONS[promotion.phase]
            properties.operation_ends(host.me, "promotion", timed=by in host.armed)
    if stopping is not None:
        waiting += len(stopping.tickets)
        timed = not host.armed.isdisjoint(_ENDS_OF_STOPPING[type(stopping)])
        properties.operation_ends(host.me, type(stopping).__name__, timed=timed)
    properties.operators_known(host.me, host.diary.answers.operators, waiting)


_ENDS_OF_PROMOTIONS: Mapping[PromotionPhase, str] = {
    PromotionPhase.ASKING: TimerKind.PROMOTION,
    PromotionPhase.CAMPAIGNING: ElectionTimer.ELECTION,
}
"""The third phase lasts as long as there is no quorum (protocol.md section 6)."""
_ENDS_OF_STOPPING: Mapping[type, frozenset[str]] = {
    LeadershipTransfer: frozenset({TimerKind.HAND_OVER, ElectionTimer.TRANSFER}),
    Demotion: frozenset({TimerKind.DEMOTION}),
}


def _confirms(host: ExaminedNode, replicated_log: ReplicatedLog) -> None:
    """Property 2: the outcomes follow from the confirmed log alone, on every node."""
    diary, log, upto = host.diary, host.whole(), replicated_log.confirmed
    books = ReferenceRecords()
    for entry in host.history()[:upto]:
        books.enter(host.me, entry, log)
    canon = ReferenceLog(books)
    canon.extend(log, upto)
    crcs = tuple([int(log.crc_at(index)) for index in range(1, upto + 1)])
    gone = tuple(canon.rolled_back[1:])
    for index in range(1, upto + 1):
        term = log.term_at(index)
        known = index > replicated_log.log.start.index
        if known and books.places[index, term].kind in properties.DECIDED:
            here = replicated_log.limbo.stretch_at(index) is not None
            properties.one_fate(host.me, index, gone=here, elsewhere=gone[index - 1])
    for index, (before, now) in enumerate(zip(diary.confirmed_crcs, crcs, strict=False), start=1):
        if before != now:
            properties.one_order(host.me, index, term=log.term_at(index), elsewhere=-1)
        properties.one_fate(host.me, index, gone=gone[index - 1], elsewhere=diary.gone[index - 1])
    if len(crcs) >= len(diary.confirmed_crcs):
        if any(gone[len(diary.gone) :]):
            host.happened("confirmed a rollback")
        if len(crcs) > len(diary.confirmed_crcs):
            host.happened("confirmed")
        diary.confirmed_crcs, diary.gone = crcs, gone


def _counts(host: ExaminedNode) -> None:
    """Property 2: the voters are a fold over the log, wherever it begins (membership.md M6 a)."""
    mine, wanted = host.replicated_log.configurations.in_force, _in_force(host)
    properties.counts_by_its_log(host.me, mine=mine, wanted=wanted)


def _counted(host: ExaminedNode, replicated_log: ReplicatedLog, since: Index) -> None:
    """It confirms by the voters of the last configuration in its log (M1 b)."""
    configuration, confirmed = _in_force(host), replicated_log.confirmed
    if confirmed <= since:
        return
    assert configuration is not None
    crc = int(host.whole().crc_at(confirmed))
    host.diary.counted = CountedPlace(index=confirmed, crc=crc, voters=configuration.replicas)


def _in_force(host: ExaminedNode) -> Configuration | None:
    """By the whole log, read again from its beginning."""
    log, codec = host.whole(), host.replicated_log.configurations.codec
    fold, begins = Configurations(all_of(host.plan.founders), codec), host.platter.cluster.begins
    if host.platter.cluster.ancestors:
        fold.begin_at(begins.configuration)
    for entry in host.history()[begins.index :]:
        fold.took(entry, log)
    return fold.in_force


def _remember_shown(host: ExaminedNode, replicated_log: ReplicatedLog) -> None:
    """The entries visible beyond the confirmed index, and the term in which each became visible."""
    diary, term, limbo = host.diary, host.core.machine.raft.term, replicated_log.limbo
    known = zip(diary.shown_crcs, diary.shown, strict=True)
    since = {(index, crc): before for crc, (index, before) in known}
    entries = [
        each
        for each in replicated_log.entries(
            Index(replicated_log.confirmed + 1), replicated_log.visible
        )
        if each.kind == EntryKind.TXN and limbo.stretch_at(each.index) is None
    ]
    diary.shown = tuple([(e.index, since.get((e.index, e.crc), term)) for e in entries])
    diary.shown_crcs = tuple([int(each.crc) for each in entries])


def _shows(host: ExaminedNode, replicated_log: ReplicatedLog) -> None:
    """Properties 4 and 8."""
    diary, log = host.diary, replicated_log.log
    shows(host.me, replicated_log, replicated_log.confirmed, host.platter)
    if replicated_log.visible != replicated_log.confirmed or diary.shown:
        _remember_shown(host, replicated_log)
    for (index, term), why in diary.answers.gone.items():
        if index <= log.last and properties.shows(replicated_log, index, term):
            properties.gone_is_hidden(host.me, (index, term), why)
