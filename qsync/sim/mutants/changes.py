"""Broken rules of configuration changes: when one takes effect, and what it waits for."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from typing_extensions import override

from election.messages import Index, Term
from qsync.core.changes import Changes, ChangeUnderWay, StepFate
from qsync.core.configuration import Configuration, Configurations
from qsync.core.leader import Leader
from qsync.core.limbo import Limbo
from qsync.core.member_change import MemberChange
from qsync.core.ready import LogAppended
from qsync.record import CONFIG, WAIT_ACK, WAIT_SYNC, Entry, EntryKind
from qsync.replica import Replica as Core
from qsync.sim.mutants.counting import every_leader_is
from qsync.sim.mutants.mutant import Mutant, keep, put

# -- from when on


class _Late(Configurations):
    @property
    @override
    def in_force(self) -> Configuration | None:
        """The last one that is confirmed."""
        for change in reversed(self._changes):
            if change.taken_back_by is None and change.index <= _confirmed(self):
                return change.configuration
        return self._founding


class _LateBack(Configurations):
    @property
    @override
    def in_force(self) -> Configuration | None:
        """A ROLLBACK takes a change back when it is confirmed."""
        for change in reversed(self._changes):
            if change.taken_back_by is None or change.taken_back_by > _confirmed(self):
                return change.configuration
        return self._founding


class _NeverBack(Configurations):
    @override
    def _rolled_back(self, first: Index, record: Index) -> None:
        """What was rolled back stays in force."""


class _Undecided(Configurations):
    @property
    @override
    def last_decisive(self) -> Index:
        """The next change waits for nothing."""
        return Index(0)


class _HalfDecided(Configurations):
    @property
    @override
    def last_decisive(self) -> Index:
        """It does not wait for the ROLLBACK of the last one."""
        if not self._changes or self._changes[-1].taken_back_by is not None:
            return Index(0)
        return self._changes[-1].index


def _confirmed(configurations: Configurations) -> Index:
    limbo = vars(configurations)["limbo"]
    assert isinstance(limbo, Limbo)
    return limbo.confirmed


def _configurations_are(core: Core, kind: type[Configurations]) -> None:
    configurations = core.machine.replicated_log.configurations
    keep(configurations, limbo=core.machine.replicated_log.limbo)
    configurations.__class__ = kind


# -- changes


class _Hurried(Leader):
    hurried = False
    """A change is being looked at."""

    @property
    @override
    def open(self) -> bool:
        """Of a change it is not asked whether the PROMOTE is confirmed."""
        return self.stopping is None if self.hurried else super().open

    @override
    def configure(self, configuration: Configuration, wall: float) -> Entry:
        """Without looking."""
        before = self.replicated_log.configurations.in_force
        assert before is not None
        body = self.replicated_log.configurations.codec.encode(
            configuration.members, before=before.members
        )
        entry = self._append(EntryKind.TXN, CONFIG | WAIT_SYNC | WAIT_ACK, body, wall)
        self.replicated_log.events.append(LogAppended([entry]))
        return entry


class _EarlyChanges(Changes):
    @override
    def refusal(self, change: MemberChange, *, force: bool) -> str | None:
        """It may be, before the PROMOTE is confirmed, too."""
        with self._hurry():
            return super().refusal(change, force=force)

    @override
    def _next(self, leader: Leader, under_way: ChangeUnderWay) -> None:
        """And is made."""
        with self._hurry():
            super()._next(leader, under_way)

    @contextmanager
    def _hurry(self) -> Iterator[None]:
        leader = self._state.leader
        if leader is not None:
            keep(leader, hurried=True)
        yield
        if leader is not None:
            keep(leader, hurried=False)


def _early(core: Core) -> None:
    every_leader_is(core, _Hurried)
    core.machine.operations.changes.__class__ = _EarlyChanges


class _Thorough(Leader):
    @override
    def configure(self, configuration: Configuration, wall: float) -> Entry:
        """Whoever goes out comes in again at once, on the new directory."""
        before = self.replicated_log.configurations.in_force
        assert before is not None
        for replica in set(before.replicas) - set(configuration.replicas):
            instance = self.followers[replica].instance
            known = before.member(replica)
            assert instance is not None
            assert known is not None
            configuration = configuration.with_(replace(known, instance=instance))
        return super().configure(configuration, wall)


class _Unprepared(Changes):
    @override
    def start(self, change: MemberChange, *, force: bool = False) -> ChangeUnderWay:
        """Whoever comes, with however little of the log."""
        under_way = super().start(change, force=force)
        under_way.target = Index(0)
        return under_way


def _unprepared(core: Core) -> None:
    core.machine.operations.changes.__class__ = _Unprepared


def _keeps_no_quorum(core: Core) -> None:
    machine = core.machine

    def clock(now: float, wall: float = 0.0) -> None:
        machine.replicated_log.now = now
        machine.state.wall = wall
        machine.state.clock(now)

    put(machine, clock=clock)


class _Hasty(Changes):
    @override
    def _fate(self, step: tuple[Index, Term]) -> StepFate:
        """What is appended is done."""
        fate = super()._fate(step)
        back = self._state.replicated_log.configurations.taken_back(step[0])
        done = StepFate.DECIDED if back is None else StepFate.ROLLED_BACK
        return done if fate is StepFate.PENDING else fate


class _HastyBack(Changes):
    @override
    def _fate(self, step: tuple[Index, Term]) -> StepFate:
        """Of a ROLLBACK that is so."""
        fate = super()._fate(step)
        back = self._state.replicated_log.configurations.taken_back(step[0])
        is_back = fate is StepFate.PENDING and back is not None
        return StepFate.ROLLED_BACK if is_back else fate


def _not_awaited(core: Core, kind: type[Configurations], changes: type[Changes]) -> None:
    _configurations_are(core, kind)
    core.machine.operations.changes.__class__ = changes


def _followed_when_confirmed(core: Core, kind: type[Configurations]) -> None:
    _configurations_are(core, kind)
    operations, state = core.machine.operations, core.machine.state
    honest = operations.advance

    def advance() -> None:
        state.follow_configuration()
        honest()

    put(operations, advance=advance)


CHANGES = (
    Mutant(
        name="configured_when_confirmed",
        rule="membership.md M1 b",
        without="a configuration is in force when it is confirmed, not when it is appended",
        remodel=partial(_followed_when_confirmed, kind=_Late),
    ),
    Mutant(
        name="two_changes_in_one",
        rule="membership.md M1 a",
        without="one entry removes the old directory and adds the new one",
        remodel=partial(every_leader_is, kind=_Thorough),
    ),
    Mutant(
        name="change_before_promote",
        rule="membership.md M2 a",
        without="a leader changes the configuration before its PROMOTE is confirmed",
        remodel=_early,
    ),
    Mutant(
        name="change_undecided",
        rule="membership.md M2 b",
        without="a change of the configuration does not wait for the decision on the previous one",
        remodel=partial(_not_awaited, kind=_Undecided, changes=_Hasty),
    ),
    Mutant(
        name="rollback_of_change_undecided",
        rule="membership.md M3 b",
        without="a change does not wait until the ROLLBACK of the previous one is confirmed",
        remodel=partial(_not_awaited, kind=_HalfDecided, changes=_HastyBack),
    ),
    Mutant(
        name="change_back_when_confirmed",
        rule="membership.md M3 c",
        without="a change is undone when its ROLLBACK is confirmed, not when the ROLLBACK is "
        "appended",
        remodel=partial(_followed_when_confirmed, kind=_LateBack),
    ),
    Mutant(
        name="rolled_back_stays_in_force",
        rule="membership.md M3 d",
        without="a configuration that was rolled back stays in force",
        remodel=partial(_configurations_are, kind=_NeverBack),
    ),
    Mutant(
        name="change_keeps_its_quorum",
        rule="membership.md M3 f",
        without="a leader steps down instead of rolling back the change that cost it the quorum",
        remodel=_keeps_no_quorum,
        harmless="the next leader inherits the change, which then waits for its quorum: only time "
        "is lost",
    ),
    Mutant(
        name="replaced_unprepared",
        rule="membership.md M4 a",
        without="a node becomes a voter before it has caught up",
        remodel=_unprepared,
        harmless="the new quorum may be missing until the node has caught up: only time is lost",
    ),
)
