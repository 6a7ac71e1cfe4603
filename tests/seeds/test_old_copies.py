"""Shipped nodes that come back on an old copy of their directory (membership.md M7 c)."""

from collections.abc import Callable
from functools import partial

import pytest

from qsync.life import DirectoryLife
from qsync.node.node import Node
from qsync.sim.kernel.copies import copy_of
from qsync.sim.kernel.disk import KernelDisk
from qsync.sim.kernel.machine import MemberMachine
from qsync.sim.plan import Plan
from qsync.sim.run import SeedReport, play
from qsync.sim.world import World
from tests.seeds.quiet import QUIET

EVENTS = 2500
COPIED_S, AWAY_S, BACK_S, HEALED_S = 1.0, 1.2, 2.2, 4.0
"""Virtual seconds: when the copy is made, who is stopped then, when it is put back, and the end."""


class Putting:
    """One follower of three whose directory is put back to what it was."""

    def __init__(self, seed: int) -> None:
        self.world = World(Plan(seed=seed, nodes=3, events=EVENTS, without=QUIET, strikes=()))
        self.copy: KernelDisk | None = None
        self.leader = self.copied = self.third = self.world.nodes[0]

    def at(self, when: float, do: Callable[[], None]) -> None:
        self.world.clockwork.after(when, do)

    def take(self) -> None:
        """A copy of the directory of a follower that runs."""
        self.leader = next(each for each in self.world.nodes if each.leads)
        self.copied, self.third = (each for each in self.world.nodes if each is not self.leader)
        self.copy = copy_of(self.copied.disk)

    def put_back(self) -> None:
        assert self.copy is not None
        assert self.copy.log.last < self.copied.disk.log.last, "nothing was acked since"
        if self.copied.up:
            self.copied.stop(power=False)
        self.copied.exchange(self.copied.instance, self.copy)
        self.copied.start()


def start_again(machine: MemberMachine) -> None:
    machine.start_again()


def restart(machine: MemberMachine) -> None:
    machine.stop(power=False)
    machine.start()


def back_among_those_who_lack_what_it_acked(seed: int) -> Putting:
    """The leader is away as the copy comes back; who is there knows of a later life, but no more.

    Without the rule these two elect one of them, and what was confirmed by the others is lost.
    """
    story = Putting(seed)

    def leave_the_copied_one_alone_with_the_leader() -> None:
        restart(story.copied)

    def third_leaves() -> None:
        story.third.stop(power=False)

    def leader_leaves() -> None:
        story.leader.stop(power=False)
        story.put_back()
        story.third.start()

    story.at(COPIED_S, story.take)
    story.at(COPIED_S + 0.01, leave_the_copied_one_alone_with_the_leader)
    story.at(AWAY_S, third_leaves)
    story.at(BACK_S, leader_leaves)
    story.at(HEALED_S, lambda: start_again(story.leader))
    return story


def back_before_the_leader_that_it_acked_to(seed: int) -> Putting:
    """It was copied in its present life, so nobody knows of a later one: but it has acked more."""
    story = Putting(seed)
    story.at(COPIED_S, story.take)
    story.at(BACK_S, story.put_back)
    return story


def never_met(instance: str, said: DirectoryLife) -> DirectoryLife | None:
    return None


def believes_all(node: Node) -> None:
    """A node that remembers no lives of others."""
    node.storage.lives.known.later = never_met  # type: ignore[method-assign]  # a mutant


def played(story: Putting) -> SeedReport:
    report = play(story.world)
    assert report.acked > 0
    return report


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    "tell", [back_among_those_who_lack_what_it_acked, back_before_the_leader_that_it_acked_to]
)
def test_a_node_on_an_old_copy_of_its_directory_counts_for_nothing_and_is_replaced(
    tell: Callable[[int], Putting], seed: int
) -> None:
    story = tell(seed)
    report = played(story)
    assert report.held, report.describe()
    assert story.copied.replaced, "it votes as what it was"


@pytest.mark.pure
def test_who_believes_an_old_copy_loses_what_was_confirmed() -> None:
    broken = 0
    for seed in (1, 2, 3):
        story = back_among_those_who_lack_what_it_acked(seed)
        for each in story.world.nodes:
            each.rebuild = partial(_both, each.rebuild)
        broken += not played(story).held
    assert broken


def _both(first: Callable[[Node], None], node: Node) -> None:
    first(node)
    believes_all(node)
