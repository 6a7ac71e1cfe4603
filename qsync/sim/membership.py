"""Operators that change the membership: nodes are added, removed, and change their roles."""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial

from election.messages import Replica
from qsync.core.configuration import Configuration
from qsync.core.inputs import ChangeAsked
from qsync.core.member_change import (
    AddMember,
    MemberChange,
    MoveMember,
    RemoveMember,
    ReplaceMember,
    SetRole,
)
from qsync.core.ready import Ticket
from qsync.member import Member, MemberRole
from qsync.sim.parts import NodePart
from qsync.sim.troubles import NemesisContext

VERBS = ("add", "add", "remove", "remove", "role", "role", "move", "replace", "remove leader")
AT_A_LEADER = 0.9
"""How often they use the leader; other nodes refuse."""
FORCED = 0.15
"""How often a change is forced although it may cost the quorum, if no disk is ever lost."""
STAY_MIN = 2
"""The minimum number of voters."""


class MemberOrders:
    """They have their own random generator, so runs without them are unchanged."""

    def __init__(self, scene: NemesisContext, place: Callable[[NodePart], Member]) -> None:
        self._scene = scene
        self._place = place
        self._dice = scene.clockwork.dice("members")
        self.orders = 0
        """The number of requests."""

    def start(self) -> None:
        """Start them, until everything is healed."""
        pause = self._dice.about(self._scene.swarm.nemesis.interval / 2)
        self._scene.later(pause, self._again)

    def heal(self) -> None:
        """Add every node that is outside from now on: a non-member receives nothing."""
        pause = self._scene.swarm.timing.election_timeout
        self._scene.clockwork.after(pause, self._take_in)

    def _take_in(self) -> None:
        if not self._scene.over:
            return  # faults start again
        self.heal()
        for leader in [each for each in self._scene.nodes if each.leads]:
            configuration = leader.core.machine.replicated_log.configurations.followed
            newcomer = None if configuration is None else self._outsider(configuration)
            if newcomer is not None:
                change = AddMember(member=replace(newcomer, role=MemberRole.LEARNER))
                what = f"operator: add {newcomer.replica}, which is outside"
                leader.operate(what, partial(asked_change, change, forced=False))

    def next_of(self, configuration: Configuration, *, voters: int) -> MemberChange | None:
        """The next step until every node is a member, and enough of them vote."""
        newcomer = self._outsider(configuration)
        if newcomer is not None:
            return AddMember(member=replace(newcomer, role=MemberRole.LEARNER))
        waiting = [each for each in configuration.members if not each.votes]
        if not waiting or len(configuration.voters) >= voters:
            return None
        return SetRole(replica=self._dice.choice(waiting).replica, role=MemberRole.VOTER)

    def _again(self) -> None:
        self.start()
        self._order()

    def _order(self) -> None:
        dice, nodes = self._dice, [each for each in self._scene.nodes if each.up]
        leaders = [each for each in nodes if each.leads]
        among = leaders if leaders and dice.chance(AT_A_LEADER) else nodes
        if not among:
            return
        node = dice.choice(among)
        configuration = node.core.machine.replicated_log.configurations.followed
        verb, who = dice.choice(VERBS), dice.choice(self._scene.nodes)
        role = dice.choice(tuple(MemberRole))
        forced = dice.chance(FORCED) and not self._scene.swarm.variety.loses_disks
        if configuration is None:
            return
        change = self._change(configuration, verb, node if verb == "remove leader" else who, role)
        there = {(each.me, each.instance) for each in self._scene.nodes}
        if change is None or leaves_too_few(configuration, change, there):
            return
        self.orders += 1
        what = f"operator: {verb} {change.replica}{', whatever it costs' if forced else ''}"
        node.operate(what, partial(asked_change, change, forced=forced))

    def _change(
        self, configuration: Configuration, verb: str, who: NodePart, role: MemberRole
    ) -> MemberChange | None:
        known, place = configuration.member(who.me), self._place(who)
        match verb:
            case "add":
                newcomer = self._outsider(configuration)
                return None if newcomer is None else AddMember(member=replace(newcomer, role=role))
            case "remove" | "remove leader":
                few = known is None or (known.votes and len(configuration.voters) <= STAY_MIN)
                return None if few else RemoveMember(replica=who.me)
            case "role":
                few = known is not None and known.votes and len(configuration.voters) <= STAY_MIN
                return None if few else SetRole(replica=who.me, role=role)
            case "move":
                return MoveMember(replica=who.me, address=place.address)
            case _:
                return ReplaceMember(replica=who.me)

    def _outsider(self, configuration: Configuration) -> Member | None:
        outside = [
            each for each in self._scene.nodes if configuration.member(Replica(each.me)) is None
        ]
        return self._place(self._dice.choice(outside)) if outside else None


def leaves_too_few(
    configuration: Configuration, change: MemberChange, there: AbstractSet[tuple[int, int]]
) -> bool:
    """Return whether a change takes a vote away, and too few other voters have their disks.

    A leader that has not noticed yet that a disk is lost would agree, and no node could lead any
    more (membership.md M5, its limit). `there`: the ids of nodes with the disks that they run on.
    """
    stays = isinstance(change, SetRole) and change.role is MemberRole.VOTER
    if stays or not isinstance(change, RemoveMember | SetRole):
        return False
    left = [pair for pair in configuration.voters if pair[0] != change.replica]
    if len(left) == len(configuration.voters):
        return False
    return len(there & set(left)) <= len(left) // 2


def asked_change(change: MemberChange, ticket: Ticket, *, forced: bool) -> ChangeAsked:
    """A request of an operator to change the configuration."""
    return ChangeAsked(ticket=ticket, change=change, force=forced)
