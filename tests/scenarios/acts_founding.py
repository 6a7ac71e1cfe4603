"""A cluster's first minutes, and mix-ups of directories: who is empty, who belongs to whom."""

from collections import deque
from dataclasses import replace
from weakref import WeakKeyDictionary

from election.messages import Replica
from qsync.store.memory import MemoryLog, MemorySpaces
from tests.scenarios import words as said
from tests.scenarios.acts import act
from tests.scenarios.acts_basic import OPTIONS
from tests.scenarios.acts_disks import down
from tests.scenarios.stage import Stage

ASIDE: WeakKeyDictionary[Stage, dict[str, tuple[MemoryLog, MemorySpaces]]] = WeakKeyDictionary()
"""Directories that nobody runs on, by name."""


@act
def found(stage: Stage, words: list[str]) -> None:
    """found N [option=value ...]: nodes with empty directories that have not met yet (`heal`)."""
    voters = tuple(Replica(each) for each in range(1, int(words[0]) + 1))
    stage.config = replace(stage.config, voters=voters)
    for word in words[1:]:
        name, _, value = word.partition("=")
        stage.config = OPTIONS[name](stage.config, value)
    for each in voters:
        stage.enter(each)
        stage.actors[each].log = MemoryLog(wall=lambda: stage.now)
        stage.actors[each].boot()
    for a in voters:
        for b in voters:
            if a != b:
                stage.wires[(a, b)] = deque()
                stage.epoch[(a, b)] = 0
                stage.cut.add((a, b))
    stage.settle()
    stage.said = []


@act
def exchange(stage: Stage, words: list[str]) -> None:
    """exchange N NAME: N's directory and the one put aside as NAME (or none) change places."""
    actor, aside = down(stage, words[0]), ASIDE.setdefault(stage, {})
    empty = (MemoryLog(wall=lambda: stage.now), said.furnished())
    taken = aside.get(words[1], empty)
    aside[words[1]] = (actor.log, actor.spaces)
    actor.log, actor.spaces = taken


@act
def members(stage: Stage, words: list[str]) -> None:
    """members [N...]: which nodes count in quorums, by their own ballot."""
    for actor in [stage.actor(word) for word in words] or stage.running:
        ballot = actor.machine.raft.ballot
        stage.say(f"{actor.me}: {'member' if ballot.member else 'recruit'}")
