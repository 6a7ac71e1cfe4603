"""Replays the events of nodes with reference automata: the rules must allow each step."""

from functools import partial

from admin.checker.replay.steps import ACKED, AUTOMATA, DIRECTORIES, PLACES, PROMISES, Automaton
from admin.checker.rules.rule import Rule, RuleFinding
from admin.checker.rules.run import RunTables

SAYS = {
    PROMISES: (
        "no node votes for another one while its promise is in force",
        "no event `promised`",
        "wal",
    ),
    ACKED: (
        "a leader confirms what a quorum acked to it in its term",
        "no leader confirmed anything of its term",
        "wal",
    ),
    PLACES: (
        "reads are served by a log that has every acknowledged entry",
        "no event `served` with the term of its last entry",
        "events",
    ),
    DIRECTORIES: ("an instance is one directory", "no event `opened`", "events"),
}


def replayed(automaton: type[Automaton], run: RunTables) -> RuleFinding:
    """Its finding on a run in memory."""
    machine = automaton(run.manifest.quorum)
    for each in run.events:
        if each.name in automaton.names:
            machine.step(each)
    return machine.found


def _rule(automaton: type[Automaton]) -> Rule:
    says, idle, counts = SAYS[automaton.id]
    find = partial(replayed, automaton)
    return Rule(automaton.id, says, ("events",), find, counts=counts, idle=idle)


RULES = tuple(_rule(each) for each in AUTOMATA)
