"""A cluster's first minutes, and mix-ups of directories: who is empty, who belongs to whom."""

from collections import deque
from dataclasses import replace
from weakref import WeakKeyDictionary

from election.messages import Replica
from qsync.record import Instance
from qsync.store.memory import MemoryLog, MemorySpaces
from tests.scenarios import words as said
from tests.scenarios.actor import FOUNDER
from tests.scenarios.acts import act
from tests.scenarios.acts_basic import OPTIONS
from tests.scenarios.acts_disks import down
from tests.scenarios.stage import Stage

Directory = tuple[MemoryLog, MemorySpaces, Instance]
ASIDE: WeakKeyDictionary[Stage, dict[str, Directory]] = WeakKeyDictionary()
"""Directories that nobody runs on, by name."""


@act
def found(stage: Stage, words: list[str]) -> None:
    """found N [option=value ...]: a new cluster whose nodes have not met yet (`heal`)."""
    voters = tuple(Replica(each) for each in range(1, int(words[0]) + 1))
    stage.config = replace(stage.config, voters=voters)
    for word in words[1:]:
        name, _, value = word.partition("=")
        stage.config = OPTIONS[name](stage.config, value)
    for each in voters:
        stage.enter(each)
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
    """exchange N NAME [founded]: N's directory and the one put aside as NAME change places.

    Without one of that name N gets a new directory, or with `founded` one as the founding made it.
    """
    actor, aside = down(stage, words[0]), ASIDE.setdefault(stage, {})
    taken = aside.get(words[1])
    if taken is None:
        log = MemoryLog(wall=lambda: stage.now)
        instance = FOUNDER if words[2:] else stage.new_instance()
        taken = (log, said.furnished(), instance)
    aside[words[1]] = (actor.log, actor.spaces, actor.config.instance)
    actor.log, actor.spaces, instance = taken
    actor.config = replace(actor.config, instance=instance)
