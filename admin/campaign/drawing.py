"""The faults of a campaign, chosen by the seed for each round."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from random import Random

from qsync import faults
from qsync.errors import ConfigError
from qsync.faults import Fault


class StrikeKind(StrEnum):
    """A kind of fault."""

    KILL = "kill"
    KILL_LEADER = "kill-leader"
    KILL_MAJORITY = "kill-majority"
    PAUSE_LEADER = "pause-leader"
    PAUSE_FOLLOWER = "pause-follower"
    CUT = "cut"
    ONE_WAY = "one-way"
    REFUSE = "refuse"
    HALF_OPEN = "half-open"
    SLOW = "slow"
    FLIP = "flip"
    WIPE = "wipe"
    NEW_DISK = "new-disk"
    SWAP = "swap"
    DETACH = "detach"
    FULL_DISK = "full-disk"
    FAIL_FSYNC = "fail-fsync"
    SLOW_FSYNC = "slow-fsync"
    CLOCK_JUMP = "clock-jump"
    LOSE_MESSAGES = "lose-messages"
    OPERATORS = "operators"


FAULTS: Mapping[StrikeKind, tuple[Fault, ...]] = {
    StrikeKind.KILL: (Fault.KILL,),
    StrikeKind.KILL_LEADER: (Fault.KILL,),
    StrikeKind.KILL_MAJORITY: (Fault.KILL,),
    StrikeKind.PAUSE_LEADER: (Fault.PAUSE,),
    StrikeKind.PAUSE_FOLLOWER: (Fault.PAUSE,),
    StrikeKind.CUT: (Fault.CUT,),
    StrikeKind.ONE_WAY: (Fault.ONE_WAY,),
    StrikeKind.REFUSE: (Fault.REFUSE,),
    StrikeKind.HALF_OPEN: (Fault.HALF_OPEN,),
    StrikeKind.SLOW: (Fault.SLOW_LINK,),
    StrikeKind.FLIP: (Fault.BIT_FLIP,),
    StrikeKind.WIPE: (Fault.WIPE,),
    StrikeKind.NEW_DISK: (Fault.NEW_DISK,),
    StrikeKind.SWAP: (Fault.SWAP,),
    StrikeKind.DETACH: (Fault.DETACH,),
    StrikeKind.FULL_DISK: (Fault.FULL_DISK,),
    StrikeKind.FAIL_FSYNC: (Fault.FAIL_FSYNC,),
    StrikeKind.SLOW_FSYNC: (Fault.SLOW_FSYNC,),
    StrikeKind.CLOCK_JUMP: (Fault.CLOCK_JUMP,),
    StrikeKind.LOSE_MESSAGES: (Fault.LOSE_CONFIRM, Fault.LOSE_ROLLBACK),
    StrikeKind.OPERATORS: (Fault.PROMOTE, Fault.DEMOTE),
}
"""The faults that each kind may inject; where there are two, one of them."""
_WHOM = {
    StrikeKind.KILL_LEADER: "the leader: ",
    StrikeKind.KILL_MAJORITY: "a majority at once: ",
    StrikeKind.KILL: "any node: ",
    StrikeKind.PAUSE_FOLLOWER: "any node: ",
    StrikeKind.PAUSE_LEADER: "the leader, while reads wait on its open connections: ",
    StrikeKind.OPERATORS: "in quick turns: ",
}
ABOUT = {
    kind: _WHOM.get(kind, "") + ", or ".join(faults.ABOUT[fault] for fault in FAULTS[kind])
    for kind in StrikeKind
}
DISK_LOST = frozenset({StrikeKind.WIPE, StrikeKind.NEW_DISK, StrikeKind.SWAP})
"""One a round: a disk that is lost before the one before it was replaced is lost data, rightly."""
LINKS = (StrikeKind.CUT, StrikeKind.ONE_WAY, StrikeKind.REFUSE, StrikeKind.HALF_OPEN)
ROUND_S = 25.0
STRIKES = (4, 8)
LASTS_S = (0.5, 10.0)
BESIDE_SHARE = 0.7
"""The share of lost disks with a link fault at the same time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strike:
    """One fault: when it begins in the round, and how long it lasts. `seed`: its choices."""

    kind: StrikeKind
    after: float
    lasts: float
    seed: int


def kinds_without(names: Collection[str]) -> list[StrikeKind]:
    """All kinds but these. Raises ConfigError for an unknown kind, or if none is left."""
    unknown = sorted(set(names) - set(StrikeKind))
    if unknown:
        raise ConfigError(
            f"there is no {', '.join(map(repr, unknown))}",
            hint=f"there are {', '.join(StrikeKind)}",
        )
    left = [kind for kind in StrikeKind if kind not in names]
    if not left:
        raise ConfigError("nothing is left that could be broken")
    return left


def draw(dice: Random, kinds: Collection[StrikeKind], *, seconds: float = ROUND_S) -> list[Strike]:
    """Choose the faults of one round."""
    left = list(kinds)
    found: list[Strike] = []
    for _ in range(dice.randint(*STRIKES)):
        kind = dice.choice(left)
        strike = _strike(dice, kind, seconds)
        found.append(strike)
        if kind in DISK_LOST:
            left = [each for each in left if each not in DISK_LOST] or [kind]
            links = [each for each in LINKS if each in kinds]
            if links and dice.random() < BESIDE_SHARE:
                found.append(_beside(dice, dice.choice(links), strike))
            if left == [kind]:
                break
    return sorted(found, key=lambda each: each.after)


def _strike(dice: Random, kind: StrikeKind, seconds: float) -> Strike:
    lasts = min(dice.uniform(*LASTS_S), seconds / 2)
    after = dice.uniform(0.0, max(0.0, seconds - lasts))
    return Strike(
        kind=kind, after=round(after, 2), lasts=round(lasts, 2), seed=dice.randrange(1 << 30)
    )


def _beside(dice: Random, kind: StrikeKind, other: Strike) -> Strike:
    early = max(0.0, other.after - dice.random() * 2)
    return Strike(
        kind=kind,
        after=round(early, 2),
        lasts=round(other.lasts * dice.uniform(0.5, 1.5), 2),
        seed=dice.randrange(1 << 30),
    )
