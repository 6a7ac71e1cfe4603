"""The faults of a drill that are done to the links between nodes."""

from admin.drills import links, targets
from admin.drills.acts import Acts, seconds
from admin.drills.journal import UndoStep
from admin.drills.model import Step
from admin.drills.words import Undo
from admin.links.rules import DirectedLink, LinkRule

FLAP_S = 0.3


def cut(acts: Acts, step: Step, nodes: list[str]) -> None:
    """Silence, or resets."""
    refuse = step.options.get("refuse") is True
    _spoil(
        acts, _across(acts, step, nodes), LinkRule(refuse=True) if refuse else LinkRule(cut=True)
    )


def slow(acts: Acts, step: Step, nodes: list[str]) -> None:
    """Late, thin, or as if packets were lost."""
    rule = LinkRule(
        delay=seconds(step.options, "delay", 0.0),
        jitter=seconds(step.options, "jitter", 0.0),
        rate=seconds(step.options, "rate", 0.0),
        stall=seconds(step.options, "stall", 0.0),
    )
    _spoil(acts, _across(acts, step, nodes), rule)


def flap(acts: Acts, step: Step, nodes: list[str]) -> None:
    """Now and then."""
    rule = LinkRule(flap=seconds(step.options, "every", FLAP_S))
    _spoil(acts, _across(acts, step, nodes), rule)


def ring(acts: Acts, _: Step, __: list[str]) -> None:
    """Neighbours only."""
    _spoil(acts, links.ring(acts.all), LinkRule(cut=True))


def bridge(acts: Acts, _: Step, nodes: list[str]) -> None:
    """Two halves and one between them."""
    _spoil(acts, links.bridge(acts.all, nodes[0]), LinkRule(cut=True))


def reset(acts: Acts, step: Step, nodes: list[str]) -> None:
    """Connections break once; nothing has to be undone."""
    acts.lab.control.reset(_across(acts, step, nodes))


def mend(acts: Acts, _: Step, __: list[str]) -> None:
    """All links."""
    acts.lab.control.heal()
    acts.journal.settle(UndoStep(undo=Undo.MEND))


def _spoil(acts: Acts, wanted: list[DirectedLink], rule: LinkRule) -> None:
    acts.owe(UndoStep(undo=Undo.MEND))
    acts.lab.control.set(wanted, rule)


def _across(acts: Acts, step: Step, nodes: list[str]) -> list[DirectedLink]:
    word = step.options.get("with")
    outside = () if word is None else targets.now(acts.names, str(word), acts.leader())
    return links.across(acts.all, nodes, outside, str(step.options.get("way", "both")))
