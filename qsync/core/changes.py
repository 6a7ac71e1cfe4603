"""A leader changes the members, one decided step after the other (membership.md M2, M4, M5)."""

from dataclasses import dataclass, field
from enum import Enum

from election.messages import Index, Term
from election.quorum import majority
from qsync.core.configuration import Configuration
from qsync.core.inputs import ChangeAsked
from qsync.core.leader import Leader
from qsync.core.member_change import (
    MemberChange,
    ReplaceMember,
    SetRole,
    is_adding_voter,
    misfit,
    needed,
    next_step,
)
from qsync.core.presence import Presence
from qsync.core.progress import Membership, Progress
from qsync.core.ready import Ticket, TimerKind
from qsync.core.replica_state import ReplicaState
from qsync.member import MemberRole, Standing
from qsync.units import how_many


class StepFate(Enum):
    """The fate of a step that was appended."""

    PENDING = "pending"
    DECIDED = "decided"
    ROLLED_BACK = "rolled back"
    CUT = "cut"
    TRIMMED = "trimmed"
    """It was decided, and where the log begins now does not say how."""


@dataclass(slots=True, kw_only=True)
class ChangeUnderWay:
    """The one change that this leader makes.

    `target`: our log when it was asked for; a newcomer must have that before it counts.
    `step`: where the last step stands in the log. `is_last`: nothing is left to do after it.
    """

    change: MemberChange
    force: bool
    target: Index
    step: tuple[Index, Term] | None = None
    is_last: bool = False
    tickets: list[Ticket] = field(default_factory=list)


class Changes:
    """At most one at a time, and the next step only when the former is decided (M2 b).

    A disk that was lost has lost votes and acks. No repair in place is safe, so its vote is made
    worthless in the log, by two steps (M5). Every later leader continues a half-done change: the
    member that waits to be a voter says so in its role.
    """

    def __init__(self, state: ReplicaState) -> None:
        self._state = state
        self._presence = Presence(state)
        self.current: ChangeUnderWay | None = None
        self.waiting: list[tuple[tuple[Index, Term], Ticket]] = []
        """Last steps of changes, and who waits until they are decided, here or by a successor."""

    # -- asked

    def handle_request(self, event: ChangeAsked) -> None:
        """Begin a change; answer when all its steps are decided, or why it cannot be made."""
        under_way = self.current
        if under_way is not None and under_way.change == event.change:
            under_way.tickets.append(event.ticket)
            return
        if under_way is not None and not under_way.tickets and self.is_decided:
            self._end(f"gave way to a change of node {event.change.replica}")
        refused = self.refusal(event.change, force=event.force)
        if refused is not None:
            self._state.answer(event.ticket, refused)
            return
        self.start(event.change, force=event.force).tickets.append(event.ticket)

    def start(self, change: MemberChange, *, force: bool = False) -> ChangeUnderWay:
        """Begin a change; its first step is made as soon as it can be."""
        assert self.current is None
        target = self._state.replicated_log.log.last
        self.current = ChangeUnderWay(change=change, force=force, target=target)
        if not isinstance(change, ReplaceMember):
            self._state.out.arm(TimerKind.CHANGE, self._state.config.disconnect_timeout)
        return self.current

    def refusal(self, change: MemberChange, *, force: bool) -> str | None:
        """Return why that change cannot be begun now; None when it can."""
        state, leader = self._state, self._state.leader
        configuration = state.replicated_log.configurations.followed
        if leader is None or configuration is None:
            return f"node {state.config.me} does not lead"
        if not leader.open:
            return f"node {state.config.me} does not take writes now"
        if self.current is not None:
            return f"node {self.current.change.replica} is being changed; one at a time"
        if not self.is_decided:
            decisive = state.replicated_log.configurations.last_decisive
            return f"the change of the configuration at {decisive} is not decided yet"
        instance = self._presence.running(change.replica)
        wrong = misfit(configuration, change, state.config.synchro_quorum, instance)
        if wrong is None and isinstance(change, ReplaceMember):
            wrong = self._presence.unreplaceable(change.replica)
        if wrong is not None:
            return wrong
        after = next_step(configuration, change, instance)
        return (
            None
            if after is None or force
            else self._presence.careless(configuration, after, change)
        )

    def forget(self, ticket: Ticket) -> None:
        """Forget a ticket whose client is gone; the started change continues."""
        if self.current is not None and ticket in self.current.tickets:
            self.current.tickets.remove(ticket)
        self.waiting = [each for each in self.waiting if each[1] != ticket]

    def plan(self, change: MemberChange, *, force: bool) -> dict[str, object]:
        """Return what that change would do now, in numbers; `refused` says why it would not."""
        state = self._state
        before, quorum = state.replicated_log.configurations.followed, state.config.synchro_quorum
        numbers: dict[str, object] = {"refused": self.refusal(change, force=force)}
        progress, instance = state.peers.get(change.replica), self._presence.running(change.replica)
        if before is None or misfit(before, change, quorum, instance) is not None:
            return numbers
        after = next_step(before, change, instance) or before
        return numbers | {
            "voters": len(before.replicas),
            "voters_after": len(after.replicas),
            "quorum": needed(before, quorum),
            "quorum_after": needed(after, quorum),
            "heard": len(self._presence.heard(after)),
            "lag": self._presence.lag(progress) if progress is not None else None,
        }

    # -- by itself

    def automatic(self) -> None:
        """With every heartbeat: what is half done goes on, and lost disks are replaced (M5 b).

        A newcomer that waits to be a voter becomes one when it has caught up; a node that returned
        with a new directory gets its place back (policy auto).
        """
        state, leader = self._state, self._state.leader
        configuration = state.replicated_log.configurations.followed
        if leader is None or not leader.open or configuration is None:
            return
        if self.current is not None or not self.is_decided:
            return
        for progress in state.peers.values():
            change = self._wanted(progress, configuration)
            if change is not None and self.refusal(change, force=False) is None:
                self.start(change)
                return

    def _wanted(self, progress: Progress, configuration: Configuration) -> MemberChange | None:
        member = configuration.member(progress.peer)
        if member is None or not self._presence.is_current(progress, Index(0)):
            return None
        if progress.membership is Membership.STRANGER:
            is_auto = self._state.config.replace == "auto"
            return ReplaceMember(replica=progress.peer) if is_auto else None
        is_joining = member.role is MemberRole.JOINING
        return SetRole(replica=progress.peer, role=MemberRole.VOTER) if is_joining else None

    # -- step by step

    def advance(self) -> None:
        """Make the next step when the last one is decided; answer the ticket at the end."""
        if self.waiting:
            self._settle()
        under_way = self.current
        if under_way is None:
            return
        leader = self._state.leader
        if leader is None:
            self._deposed(under_way)
            return
        fate = StepFate.DECIDED if under_way.step is None else self._fate(under_way.step)
        if fate in (StepFate.ROLLED_BACK, StepFate.CUT, StepFate.TRIMMED):
            self._end(_refused(under_way.step, fate))
        elif self.is_decided:
            self._next(leader, under_way)

    def _next(self, leader: Leader, under_way: ChangeUnderWay) -> None:
        configuration = self._state.replicated_log.configurations.followed
        assert configuration is not None
        change, instance = under_way.change, self._presence.running(under_way.change.replica)
        if under_way.is_last:
            self._end(None)
            return
        wrong = misfit(configuration, change, self._state.config.synchro_quorum, instance)
        if wrong is not None:
            self._end(wrong)
            return
        wanted = next_step(configuration, change, instance)
        if wanted is None:
            self._end(None)
        elif leader.open and self._is_ready(configuration, wanted, under_way):
            entry = leader.configure(wanted, self._state.wall)
            under_way.step = (entry.index, entry.term)
            under_way.is_last = next_step(wanted, change, instance) is None
            self._state.out.disarm(TimerKind.CHANGE)
            self._state.follow_configuration()

    def _is_ready(
        self, before: Configuration, after: Configuration, under_way: ChangeUnderWay
    ) -> bool:
        """Return whether the step may be made: a new voter must have the log (M4 a), or force."""
        # A lost disk goes out when its successor has the log, so that both steps follow at once.
        if under_way.force:
            return True
        if not isinstance(under_way.change, ReplaceMember) and not is_adding_voter(before, after):
            return True
        progress = self._state.peers.get(under_way.change.replica)
        member = after.member(under_way.change.replica)
        return (
            progress is not None
            and member is not None
            and progress.instance == member.instance
            and self._presence.is_current(progress, under_way.target)
        )

    def timer(self) -> None:
        """Give up on a newcomer that did not catch up with our log in time."""
        under_way = self.current
        if under_way is None or under_way.step is not None:
            return
        progress = self._state.peers.get(under_way.change.replica)
        lag = (
            "is not connected"
            if progress is None
            else f"lacks {how_many(self._presence.lag(progress), 'entry')}"
        )
        self._end(f"node {under_way.change.replica} {lag}: it has not caught up")

    def _deposed(self, under_way: ChangeUnderWay) -> None:
        """A successor decides the last step; what is left of others it is asked for again."""
        if under_way.step is not None and under_way.is_last:
            self.waiting += [(under_way.step, each) for each in under_way.tickets]
            self.current = None
            self._settle()
        else:
            replica = under_way.change.replica
            self._end(f"this node no longer leads; ask the leader to change node {replica}")

    def _settle(self) -> None:
        waiting, self.waiting = self.waiting, []
        for step, ticket in waiting:
            fate = self._fate(step)
            if fate is StepFate.PENDING:
                self.waiting.append((step, ticket))
            else:
                self._state.answer(ticket, _refused(step, fate))

    def _fate(self, step: tuple[Index, Term]) -> StepFate:
        replicated_log, (index, term) = self._state.replicated_log, step
        if index < replicated_log.log.start.index:
            return StepFate.TRIMMED
        if index > replicated_log.log.last or replicated_log.log.term_at(index) != term:
            return StepFate.CUT
        record = replicated_log.configurations.taken_back(index)
        if replicated_log.confirmed < (index if record is None else record):
            return StepFate.PENDING
        return StepFate.DECIDED if record is None else StepFate.ROLLED_BACK

    def _end(self, refused: str | None) -> None:
        under_way, self.current = self.current, None
        assert under_way is not None
        self._state.out.disarm(TimerKind.CHANGE)
        what = type(under_way.change).__name__
        self._state.out.add_event(
            "member_changed", replica=under_way.change.replica, what=what, refused=refused
        )
        for ticket in under_way.tickets:
            self._state.answer(ticket, refused)

    # -- who is there

    @property
    def waits(self) -> int:
        """How many tickets wait for an answer."""
        return len(self.waiting) + (len(self.current.tickets) if self.current is not None else 0)

    @property
    def is_decided(self) -> bool:
        """Whether the last change of the configuration, or its ROLLBACK, is confirmed (M2 b)."""
        replicated_log = self._state.replicated_log
        return replicated_log.confirmed >= replicated_log.configurations.last_decisive

    @property
    def standing(self) -> Standing:
        """The standing of this node in its cluster, by its own log, also after its removal."""
        replicated_log = self._state.replicated_log
        return replicated_log.configurations.standing_of(
            self._state.config, replicated_log.confirmed
        )

    # -- a quorum that is lost

    def keep_quorum(self) -> None:
        """A leader that its own pending change deprives of a quorum takes the change back.

        Instead of stepping down, if a majority of the former configuration is there: once the
        change is inherited by a new leader it cannot be rolled back, and may never find its quorum
        (membership.md M3 f).
        """
        leader, raft, replicated_log = (
            self._state.leader,
            self._state.raft,
            self._state.replicated_log,
        )
        if leader is None or not leader.open:
            return
        changes = list(replicated_log.configurations.standing())
        if not changes or changes[-1][0] <= replicated_log.confirmed:
            return
        if not raft.state.contact.is_lost(replicated_log.now):
            return
        former = replicated_log.configurations.before(changes[-1][0])
        assert former is not None
        since = replicated_log.now - raft.state.contact.timeout
        heard = [
            each
            for each in self._state.peers.values()
            if former.names(each.peer, each.instance) and each.heard_at >= since
        ]
        own = former.names(self._state.config.me, self._state.config.instance)
        if len(heard) + own >= majority(len(former.voters)):
            self._state.roll_back("configuration")
            self._state.follow_configuration()


def _refused(step: tuple[Index, Term] | None, fate: StepFate) -> str | None:
    """Return the error for a step with that fate."""
    if fate is StepFate.DECIDED or step is None:
        return None
    if fate is StepFate.CUT:
        return f"the change of the configuration at {step[0]} was cut: another leader took over"
    if fate is StepFate.TRIMMED:
        return f"the change of the configuration at {step[0]} is trimmed: look at the members"
    return f"the change of the configuration at {step[0]} was rolled back"
