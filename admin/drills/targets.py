"""Resolves the targets of a drill to nodes of the cluster when the drill begins."""

from collections.abc import Mapping, Sequence
from random import Random

from admin.drills.model import ALL, LEADER, Drill, DrillTarget, Pick, Step, TargetRole
from qsync.errors import ConfigError

Names = Mapping[str, tuple[str, ...]]


def resolve(drill: Drill, names: Sequence[str], leader: str | None) -> Names:
    """Node names by target. Raises ConfigError for a target without a node.

    `names` are in the order of their ids; the seed decides if a target allows several nodes.
    """
    dice = Random(f"targets {drill.seed}")  # noqa: S311 - replays, hides nothing
    found: dict[str, tuple[str, ...]] = {}
    taken: set[str] = set()
    # Named nodes and the leader are assigned first, so that no other target takes them.
    order = sorted(drill.targets.items(), key=lambda item: _rank(item[1]))
    for name, target in order:
        chosen = _choose(target, names, leader, taken, dice)
        if not chosen:
            raise ConfigError(f"target {name!r} finds no node among {', '.join(names)}")
        taken.update(chosen)
        found[name] = tuple(chosen)
    return {**{name: found[name] for name in drill.targets}, ALL: tuple(names)}


def now(names: Names, word: str, leader: str | None) -> tuple[str, ...]:
    """The nodes of a target; `leader` is the current leader."""
    if word != LEADER:
        return names[word]
    return () if leader is None else (leader,)


def of_step(names: Names, step: Step, leader: str | None) -> list[str]:
    """The nodes that a step is for."""
    return [name for word in step.on for name in now(names, word, leader)]


def beside(names: Names, step: Step, leader: str | None, option: str = "with") -> tuple[str, ...]:
    """The nodes that a step names with `with`, or another option."""
    word = step.options.get(option)
    return () if word is None else now(names, str(word), leader)


def _rank(target: DrillTarget) -> int:
    if target.node is not None or target.role is TargetRole.LEADER:
        return 0
    return 1 if target.pick in {Pick.FIRST, Pick.RANDOM} else 2


def _choose(
    target: DrillTarget, names: Sequence[str], leader: str | None, taken: set[str], dice: Random
) -> list[str]:
    if target.node is not None:
        if target.node not in names:
            raise ConfigError(f"there is no node {target.node!r}; there are {', '.join(names)}")
        return [target.node]
    if target.role is TargetRole.LEADER:
        return [name for name in names if name == leader]
    free = [name for name in names if name not in taken]
    if target.role is TargetRole.FOLLOWER:
        free = [name for name in free if name != leader]
    return _pick(target.pick, free, len(names), dice)


def _pick(pick: Pick, free: list[str], voters: int, dice: Random) -> list[str]:
    majority = voters // 2 + 1
    match pick:
        case Pick.FIRST:
            return free[:1]
        case Pick.RANDOM:
            return [dice.choice(free)] if free else []
        case Pick.MINORITY:
            return free[: voters - majority]
        case Pick.MAJORITY:
            return free[:majority] if len(free) >= majority else []
        case Pick.ALL:
            return free
