"""Events of a node's timeline in the words of people, for the dashboard and the status page."""

from collections.abc import Mapping
from typing import Final

_SENTENCES: Final = {
    "started": "started as process {pid}, in term {term}",
    "stopped": "stopped",
    "member": "votes from now on",
    "admitted": "counts from now on, by leader {by}",
    "campaign": "asks for votes in term {term}",
    "follows": "follows {leader} in term {term}",
    "elected": "won the election of term {term}",
    "stepped_down": "stepped down in term {term}: {why}",
    "fenced": "is fenced in term {term}: {why}",
    "leader_gone": "sees that the process of {leader}, leader of term {term}, is gone",
    "leader_silent": "has not heard {leader}, leader of term {term}, for too long",
    "leader_resigned": "hears that {leader}, leader of term {term}, resigned",
    "leaving": "gives up leading: {why}",
    "promote": "owns the limbo in term {term}",
    "prefers": "hands over to {to}, a preferred voter",
    "handing_over": "waits until {to} has all of the log, to hand over",
    "hands_over": "hands over to {to} in term {term}",
    "hand_over_failed": "did not hand over: {to} did not have the log in time",
    "transfer_failed": "did not hand over: {to} did not take over in time",
    "configuration": "counts these voters from now on: {voters}",
    "rollback": "rolled back transactions ({transactions}), from entry {first}: {why}",
    "disk_failed": "cannot write its log: {why}",
    "split_brain": "found a split brain: {what}",
}
"""Of what most timelines are made; what is not here is shown with its fields."""


def sentence(name: str, words: Mapping[str, str]) -> str:
    """What happened, after the name of its node. `words`: the fields of the event, as text."""
    found = _SENTENCES.get(name)
    if found is not None:
        try:
            return found.format_map(words)
        except KeyError:
            pass  # Another release says less of it.
    fields = " ".join(f"{key}={value}" for key, value in words.items())
    return f"{name} {fields}".rstrip()
