"""M11: nobody is elected while the lease of a leader holds, with clocks that run at their own pace.

Node 0 leads term 1; 1 and 2 promise, vote and may be elected for term 2. Time comes in ticks, and
each node counts them with its own clock: the leader's may lose some, the others' gain some.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

LEADER, OTHERS = 0, (1, 2)
CONFIGURATIONS = (0b111, 0b101, 0b100)
"""What the leader may make of the voters, one by one (M1 a): the last is without itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseBounds:
    """`promise`, `lease`: in ticks of the clock of who gives it, and of who rests on it.

    `slips`: how many ticks each clock may be wrong by. `lowered`: what a promise is after the
    setting was lowered, 0 if it is not.
    """

    promise: int = 3
    lease: int = 1
    slips: int = 1
    restarts: int = 1
    changes: int = 2
    lowered: int = 1


class Voter(NamedTuple):
    """`promise`: ticks that are left. `loyal`: still in term 1. `known`: its configuration."""

    promise: int = 0
    loyal: bool = True
    known: int = 0
    slips: int = 0


class Leases(NamedTuple):
    """`lease`: ticks left by the promise of each. `age`: of the open round, -1 if there is none.

    `heard`: who promised in it. `votes`: of term 2, for 1 and for 2. `looked`: a clock was looked
    at, and the lease held then.
    """

    voters: tuple[Voter, Voter, Voter] = (Voter(), Voter(), Voter())
    lease: tuple[int, int, int] = (0, 0, 0)
    age: int = -1
    heard: int = 0
    permit: bool = False
    votes: tuple[int, int] = (0, 0)
    elected: bool = False
    restarts: int = 0
    lowered: bool = False
    looked: bool = False


class Happening(NamedTuple):
    """A step."""

    what: str
    state: Leases
    broken: str = ""


class LeaseModel:
    """A model for `search`. `broken` names the one rule that is not kept."""

    def __init__(self, bounds: LeaseBounds, broken: str = "") -> None:
        self.bounds, self._off = bounds, broken
        self._lease = 2 * bounds.promise if broken == "lease_twice_the_promise" else bounds.lease

    def first(self) -> Leases:
        """Nobody promised anything."""
        return Leases()

    def same(self, state: Leases) -> Leases:
        """Every state is its own."""
        return state

    def reached(self, what: str, state: Leases) -> str:
        """What just happened, and whether a lease holds."""
        return "lease" if self._holds(state) else what.partition(":")[0]

    def broken(self, state: Leases) -> str:
        """Section 9 of M11 in one line."""
        if state.elected and self._holds(state):
            return "lease exclusive: somebody was elected while the lease of 0 holds"
        return ""

    def steps(self, state: Leases) -> Iterator[Happening]:
        """Everything that may happen next."""
        if state.voters[LEADER].loyal:
            yield from self._leads(state)
        for number in OTHERS:
            yield from self._votes(state, number)
            yield from self._is_disturbed(state, number)
        yield from self._reads(state)
        yield from self._ticks(state)

    # -- the leader

    def _holds(self, state: Leases) -> bool:
        """g, h: by the configuration in force now, of a leader that voted for nobody else."""
        mine = state.voters[LEADER]
        if not mine.loyal or (state.permit and self._off != "lease_after_permit"):
            return False
        have = 1 << LEADER
        for number in OTHERS:
            have |= (state.lease[number] > 0) << number
        judged: tuple[int, ...] = (CONFIGURATIONS[mine.known],)
        if self._off == "lease_by_old_configuration":
            judged = CONFIGURATIONS[: mine.known + 1]
        return any(2 * (have & named).bit_count() > named.bit_count() for named in judged)

    def _leads(self, state: Leases) -> Iterator[Happening]:
        # An answer to an older round gives less than one to this.
        yield Happening("a round begins: 0", state._replace(age=0, heard=0))
        if state.age >= 0:
            for number in OTHERS:
                yield from self._round(state, number)
        if not state.permit:
            # f: the lease ends first, then the permit goes out.
            permitted = state._replace(permit=True)
            if self._off != "lease_after_permit":
                permitted = permitted._replace(lease=(0, 0, 0), age=-1, heard=0)
            yield Happening("permits: 0", permitted)
        mine = state.voters[LEADER]
        if mine.known < self.bounds.changes:
            named = CONFIGURATIONS[mine.known]
            have = sum(1 << at for at, each in enumerate(state.voters) if each.known >= mine.known)
            if 2 * (have & named).bit_count() > named.bit_count():
                changed = mine._replace(known=mine.known + 1)
                yield Happening("changes: 0", _with(state, LEADER, changed))
        for number in OTHERS:
            voter = state.voters[number]
            if voter.loyal and voter.known < mine.known:
                changed = voter._replace(known=voter.known + 1)
                yield Happening(f"has the change: {number}", _with(state, number, changed))

    def _round(self, state: Leases, number: int) -> Iterator[Happening]:
        voter = state.voters[number]
        if voter.loyal and not state.heard >> number & 1:
            given = self.bounds.lowered if state.lowered else self.bounds.promise
            # i: never shortened, the later of two ends holds.
            if self._off != "promise_shortened":
                given = max(given, voter.promise)
            heard = _with(state, number, voter._replace(promise=given))
            yield Happening(f"promises: {number}", heard._replace(heard=state.heard | 1 << number))
        if state.heard >> number & 1 and not state.lowered:
            # a: from the sending of the round. After the setting was lowered there is no lease.
            gets = self._lease if self._off == "lease_from_answer" else self._lease - state.age
            if gets > state.lease[number]:
                lease = list(state.lease)
                lease[number] = gets
                known = (lease[0], lease[1], lease[2])
                yield Happening(f"answers: {number}", state._replace(lease=known))

    # -- the others

    def _votes(self, state: Leases, number: int) -> Iterator[Happening]:
        """Votes for candidate `number`: its own first (d), then of those that it asks."""
        if state.elected:
            return
        candidate = state.voters[number]
        named = CONFIGURATIONS[candidate.known]
        given = state.votes[number - 1]
        if not named >> number & 1 and not candidate.known:
            return
        for other, voter in enumerate(state.voters):
            first = other == number
            if not voter.loyal or (not given) != first or voter.known > candidate.known:
                continue
            if not named >> other & 1 and not first:
                continue
            if voter.promise and other != LEADER and not self._is_free(state, own=first):
                continue
            votes = list(state.votes)
            votes[number - 1] |= 1 << other
            told = _with(state, other, voter._replace(loyal=False))
            told = told._replace(votes=(votes[0], votes[1]))
            won = 2 * (votes[number - 1] & named).bit_count() > named.bit_count()
            yield Happening(f"votes: {other} for {number}", told._replace(elected=won))

    def _is_free(self, state: Leases, *, own: bool) -> bool:
        """Whether a promise may be broken: with the leader's own permit alone (f)."""
        if self._off == "candidate_indulgent" and own:
            return True
        return state.permit or self._off == "new_term_in_spite_of_a_promise"

    def _is_disturbed(self, state: Leases, number: int) -> Iterator[Happening]:
        voter = state.voters[number]
        if state.restarts < self.bounds.restarts:
            # c: who restarts has promised.
            waits = 0 if self._off == "promise_forgotten" else self.bounds.promise
            again = _with(state, number, voter._replace(promise=waits))
            yield Happening(
                f"restarts: {number}",
                again._replace(restarts=state.restarts + 1, heard=state.heard & ~(1 << number)),
            )
        if self._off == "refused_is_dead" and voter.promise:
            # i: a connection that is refused ends nothing. (Kept, this does nothing.)
            refused = _with(state, number, voter._replace(promise=0))
            yield Happening(f"finds the leader's port closed: {number}", refused)
        if self.bounds.lowered and not state.lowered:
            yield Happening("the setting is lowered: everywhere", state._replace(lowered=True))

    # -- clocks

    def _reads(self, state: Leases) -> Iterator[Happening]:
        """j: the clock is looked at for each read when it is judged."""
        if self._off == "lease_by_old_clock":
            if self._holds(state) and not state.looked:
                yield Happening("looks at its clock: 0", state._replace(looked=True))
            if state.looked:
                broken = "lease exclusive: a read is served after an election" * state.elected
                yield Happening("serves: 0", state._replace(looked=False), broken)

    def _ticks(self, state: Leases) -> Iterator[Happening]:
        """b: the leader's clock may lose a tick, those of the others gain one."""
        free = [each.slips < self.bounds.slips for each in state.voters]
        for slow in range(1 + free[0]):
            for first in range(1 + free[1]):
                for second in range(1 + free[2]):
                    yield self._tick(state, (1 - slow, 1 + first, 1 + second))

    def _tick(self, state: Leases, pace: tuple[int, int, int]) -> Happening:
        mine, one, two = (
            voter._replace(promise=max(voter.promise - gone, 0), slips=voter.slips + (gone != 1))
            for voter, gone in zip(state.voters, pace, strict=True)
        )
        lease = [max(left - pace[0], 0) for left in state.lease]
        age, heard = state.age, state.heard
        if age >= 0:
            age += pace[0]
            most = self.bounds.promise + self._lease
            if age >= (most if self._off == "lease_from_answer" else self._lease):
                age, heard = -1, 0  # an answer to it would give nothing
        return Happening(
            f"ticks: {pace[0]}, {pace[1]}, {pace[2]}",
            state._replace(
                voters=(mine, one, two), lease=(lease[0], lease[1], lease[2]), age=age, heard=heard
            ),
        )


def _with(state: Leases, number: int, voter: Voter) -> Leases:
    voters = list(state.voters)
    voters[number] = voter
    return state._replace(voters=(voters[0], voters[1], voters[2]))
