"""Shipped nodes that come back on an old copy of their directory (membership.md M7 c)."""

from collections.abc import Callable, Iterator
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
SEEDS, PLAYED = range(1, 31), 3
COPIED_S, AWAY_S, BACK_S, HEALED_S = 1.0, 1.2, 2.2, 4.0
"""Virtual seconds: when the copy is made, who is stopped then, when it is put back, and the end."""


class Putting:
    """One follower of three whose directory is put back to what it was."""

    def __init__(self, seed: int) -> None:
        self.world = World(Plan(seed=seed, nodes=3, events=EVENTS, without=QUIET, strikes=()))
        self.copy: KernelDisk | None = None
        self.leader = self.copied = self.third = self.world.nodes[0]
        self.led = self.told = False
        """There was a leader, and what was put back lacks something that was acked since."""

    def at(self, when: float, do: Callable[[], None]) -> None:
        self.world.clockwork.after(when, do)

    def take(self) -> None:
        """A copy of the directory of a follower that runs."""
        leaders = [each for each in self.world.nodes if each.leads]
        self.led = bool(leaders)
        self.leader = leaders[0] if leaders else self.leader
        self.copied, self.third = (each for each in self.world.nodes if each is not self.leader)
        self.copy = copy_of(self.copied.disk)

    def put_back(self) -> None:
        assert self.copy is not None
        self.told = self.led and self.copy.log.last < self.copied.disk.log.last
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

    def put_back_under_its_leader() -> None:
        leads = story.leader.leads  # nobody else knows what it acked
        story.put_back()
        story.told = story.told and leads

    story.at(COPIED_S, story.take)
    story.at(BACK_S, put_back_under_its_leader)
    return story


def never_met(instance: str, said: DirectoryLife) -> DirectoryLife | None:
    return None


def believes_all(node: Node) -> None:
    """A node that remembers no lives of others."""
    node.storage.lives.known.later = never_met  # type: ignore[method-assign]  # a mutant


def played(
    tell: Callable[[int], Putting], change: Callable[[Node], None] | None = None
) -> Iterator[tuple[Putting, SeedReport]]:
    """The first runs in which something was acked between the copy and its return."""
    found = 0
    for seed in SEEDS:
        story = tell(seed)
        if change is not None:
            for each in story.world.nodes:
                each.rebuild = partial(_both, each.rebuild, change)
        report = play(story.world)
        if story.told and report.acked > 0:
            yield story, report
            found += 1
        if found == PLAYED:
            return
    raise AssertionError(f"not {PLAYED} of the seeds {SEEDS} tell this story")


@pytest.mark.parametrize(
    "tell", [back_among_those_who_lack_what_it_acked, back_before_the_leader_that_it_acked_to]
)
def test_a_node_on_an_old_copy_of_its_directory_counts_for_nothing_and_is_replaced(
    tell: Callable[[int], Putting],
) -> None:
    for story, report in played(tell):
        assert report.held, report.describe()
        assert story.copied.replaced, f"it votes as what it was: {report.describe()}"


@pytest.mark.pure
def test_who_believes_an_old_copy_loses_what_was_confirmed() -> None:
    stories = played(back_among_those_who_lack_what_it_acked, believes_all)
    assert not all(report.held for _, report in stories)


def _both(first: Callable[[Node], None], then: Callable[[Node], None], node: Node) -> None:
    first(node)
    then(node)
