"""Injects the chosen faults into the nodes, and removes them."""

import contextlib
import shutil
import signal
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from random import Random

import trio

from admin.campaign.book import CampaignHistory
from admin.campaign.drawing import Strike, StrikeKind
from admin.campaign.nodes import Nodes
from admin.campaign.operators import CampaignOperators
from admin.cluster import ask, fault_points, surveys
from admin.lab.lab import LabNode
from admin.links.rules import WHOLE, DirectedLink, LinkRule, links_between
from qsync.errors import QsyncError
from qsync.faults import Fault

DOWN_S = (0.1, 4.0)
ASK_S = 0.5
FLIPS = 0.02
SLOW = LinkRule(delay=0.1, jitter=0.2, stall=0.1)
JUMP_S = 3600.0


@dataclass(slots=True, kw_only=True)
class Strikes:
    """All faults of a campaign, by kind."""

    nodes: Nodes
    book: CampaignHistory
    operators: CampaignOperators

    async def perform(self, strike: Strike) -> None:
        """Wait for the fault's time in the round, inject it, and remove it later."""
        await trio.sleep(strike.after)
        dice = Random(strike.seed)  # noqa: S311 - replays, hides nothing
        self.book.figures.faults[strike.kind] += 1
        await _ACTS[strike.kind](self, strike, dice)
        self.book.write_line("undone", kind=strike.kind, seed=strike.seed)

    def struck(self, strike: Strike, *nodes: LabNode, **more: object) -> None:
        """Note the fault in the history."""
        names = [node.name for node in nodes]
        self.book.write_line("strike", kind=strike.kind, nodes=names, lasts=strike.lasts, **more)

    # -- processes

    async def kill(self, strike: Strike, dice: Random) -> None:
        """Kill one node, or several at once."""
        every = list(self.nodes.all)
        match strike.kind:
            case StrikeKind.KILL_LEADER:
                victims = [await self.leader(dice)]
            case StrikeKind.KILL_MAJORITY:
                victims = dice.sample(every, len(every) // 2 + 1)
            case _:
                victims = [dice.choice(every)]
        async with self.nodes.held(*victims):
            self.struck(strike, *victims)
            async with trio.open_nursery() as nursery:
                for victim in victims:
                    nursery.start_soon(self.nodes.kill, victim)
            for victim in victims:
                await trio.sleep(dice.uniform(*DOWN_S))
                self.nodes.start(victim)

    async def pause(self, strike: Strike, dice: Random) -> None:
        """Stop a process at an arbitrary moment, then resume it."""
        leader = strike.kind is StrikeKind.PAUSE_LEADER
        victim = await self.leader(dice) if leader else dice.choice(self.nodes.all)
        async with self.nodes.held(victim):
            self.struck(strike, victim)
            self.nodes.signal(victim, signal.SIGSTOP)
            try:
                await trio.sleep(strike.lasts)
            finally:
                self.nodes.signal(victim, signal.SIGCONT)

    # -- links

    async def spoil(self, strike: Strike, dice: Random) -> None:
        """Break all links of one node, or those to or from another node."""
        names = [node.name for node in self.nodes.all]
        one = dice.choice(names)
        other = dice.choice([None, *(name for name in names if name != one)])
        links = links_between(names, one, other, one_way=strike.kind is StrikeKind.ONE_WAY)
        if strike.kind is StrikeKind.ONE_WAY and dice.random() < 0.5:  # noqa: PLR2004 - half
            links = [DirectedLink(link.target, link.source) for link in links]
        self.struck(strike, links=[str(link) for link in links])
        control = self.nodes.lab.control
        await trio.to_thread.run_sync(control.set, links, _RULES[strike.kind])
        await trio.sleep(strike.lasts)
        await trio.to_thread.run_sync(control.set, links, WHOLE)

    # -- directories

    async def lose_disk(self, strike: Strike, dice: Random) -> None:
        """Restart a node without its data."""
        victim = dice.choice(self.nodes.all)
        async with self.nodes.held(victim):
            self.struck(strike, victim)
            await self.nodes.kill(victim)
            new = strike.kind is StrikeKind.NEW_DISK
            await trio.to_thread.run_sync(partial(self.nodes.wipe, victim, identity=new))
            await trio.sleep(dice.uniform(*DOWN_S))
            self.nodes.start(victim)

    async def swap(self, strike: Strike, dice: Random) -> None:
        """Restart a node on an empty directory, then on its old one."""
        victim = dice.choice(self.nodes.all)
        aside = victim.dir / "aside"
        async with self.nodes.held(victim):
            self.struck(strike, victim)
            await self.nodes.kill(victim)
            await trio.to_thread.run_sync(self.nodes.put_aside, victim, aside)
            self.nodes.start(victim)
            await trio.sleep(strike.lasts)
            await self.nodes.kill(victim)
            await trio.to_thread.run_sync(self.nodes.put_back, victim, aside)
            self.nodes.start(victim)

    async def detach(self, strike: Strike, dice: Random) -> None:
        """Move the log of a running node away, and put it back."""
        victim = dice.choice(self.nodes.all)
        log, away = victim.dir / "log", victim.dir / "log.away"
        async with self.nodes.held(victim):
            if not await self.serves(victim):
                return  # a node that begins without its log begins as another one
            self.struck(strike, victim)
            log.rename(away)
            log.mkdir()
            try:
                await trio.sleep(strike.lasts)
            finally:
                shutil.rmtree(log)
                away.rename(log)

    # -- disks and clocks

    async def fill(self, strike: Strike, dice: Random) -> None:
        """Forbid the node's files to grow, as on a full disk."""
        victim = dice.choice(self.nodes.all)
        if not await self.serves(victim):
            return  # a node may well refuse to begin on a full disk
        self.struck(strike, victim)
        self.nodes.room(victim, full=True)
        try:
            await trio.sleep(strike.lasts)
        finally:
            self.nodes.room(victim, full=False)

    async def arm(self, strike: Strike, dice: Random) -> None:
        """Arm a fault point of one node."""
        leader = dice.random() < 0.5  # noqa: PLR2004 - half
        victim = await self.leader(dice) if leader else dice.choice(self.nodes.all)
        point, seconds = _point(strike.kind, dice)
        times = dice.choice([0, 1, 3]) if strike.kind is StrikeKind.FAIL_FSYNC else 0
        self.struck(strike, victim, point=point, seconds=seconds, times=times)

        def arm() -> None:
            with unanswered():
                fault_points.arm(
                    victim.address, point, seconds=seconds, times=times, lasts=strike.lasts
                )

        await trio.to_thread.run_sync(arm)
        await trio.sleep(strike.lasts)

    # -- operators

    async def operate(self, strike: Strike, dice: Random) -> None:
        """Promote, demote and clear in quick succession."""
        self.struck(strike)
        await self.operators.quick_turns(dice, strike.lasts)

    async def serves(self, node: LabNode) -> bool:
        """Return whether the node runs and has started to serve."""

        def look() -> bool:
            with unanswered():
                ask.status(node.address, timeout=ASK_S)
                return True
            return False

        return await trio.to_thread.run_sync(look)

    async def leader(self, dice: Random) -> LabNode:
        """Return the leader that a node names; otherwise any node."""

        def look() -> str | None:
            with unanswered():
                found = surveys.survey(self.nodes.lab.addresses, timeout=ASK_S).leader
                return None if found is None else found.name
            return None

        name = await trio.to_thread.run_sync(look)
        return dice.choice(self.nodes.all) if name is None else self.nodes.lab.node(name)


@contextmanager
def unanswered() -> Iterator[None]:
    """Ignore a missing answer: the node may be dead or stopped."""
    with contextlib.suppress(QsyncError):
        yield


def _point(kind: StrikeKind, dice: Random) -> tuple[Fault, float]:
    match kind:
        case StrikeKind.SLOW_FSYNC:
            return Fault.SLOW_FSYNC, round(dice.uniform(0.05, 1.0), 2)
        case StrikeKind.CLOCK_JUMP:
            return Fault.CLOCK_JUMP, round(dice.uniform(-JUMP_S, JUMP_S), 1)
        case StrikeKind.LOSE_MESSAGES:
            return dice.choice([Fault.LOSE_CONFIRM, Fault.LOSE_ROLLBACK]), 0.0
        case _:
            return Fault.FAIL_FSYNC, 0.0


_RULES: Mapping[StrikeKind, LinkRule] = {
    StrikeKind.CUT: LinkRule(cut=True),
    StrikeKind.ONE_WAY: LinkRule(cut=True),
    StrikeKind.REFUSE: LinkRule(refuse=True),
    StrikeKind.HALF_OPEN: LinkRule(half_open=True),
    StrikeKind.SLOW: SLOW,
    StrikeKind.FLIP: LinkRule(flip=FLIPS),
}
_Act = Callable[[Strikes, Strike, Random], Awaitable[None]]
_ACTS: Mapping[StrikeKind, _Act] = {
    StrikeKind.KILL: Strikes.kill,
    StrikeKind.KILL_LEADER: Strikes.kill,
    StrikeKind.KILL_MAJORITY: Strikes.kill,
    StrikeKind.PAUSE_LEADER: Strikes.pause,
    StrikeKind.PAUSE_FOLLOWER: Strikes.pause,
    **dict.fromkeys(_RULES, Strikes.spoil),
    StrikeKind.WIPE: Strikes.lose_disk,
    StrikeKind.NEW_DISK: Strikes.lose_disk,
    StrikeKind.SWAP: Strikes.swap,
    StrikeKind.DETACH: Strikes.detach,
    StrikeKind.FULL_DISK: Strikes.fill,
    StrikeKind.FAIL_FSYNC: Strikes.arm,
    StrikeKind.SLOW_FSYNC: Strikes.arm,
    StrikeKind.CLOCK_JUMP: Strikes.arm,
    StrikeKind.LOSE_MESSAGES: Strikes.arm,
    StrikeKind.OPERATORS: Strikes.operate,
}
