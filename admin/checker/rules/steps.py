"""Each step of a node is one that the rules allow: events, replayed by a reference automaton."""

from functools import partial

from admin.checker.replay.steps import ACKED, AUTOMATA, DIRECTORIES, PLACES, PROMISES, Automaton
from admin.checker.rules.rule import Rule, RuleFinding
from admin.checker.rules.run import RunTables

SAYS = {
    PROMISES: ("nobody votes for another while its promise runs", "no event `promised`", "wal"),
    ACKED: (
        "a leader confirms what a quorum acked to it in its term",
        "no leader confirmed anything of its term",
        "wal",
    ),
    PLACES: (
        "reads are served by a log that has what was answered",
        "no event `served` with the term of what it showed",
        "events",
    ),
    DIRECTORIES: ("an instance is one directory", "no event `opened`", "events"),
}


def replayed(automaton: type[Automaton], run: RunTables) -> RuleFinding:
    """What it makes of a run in memory."""
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
