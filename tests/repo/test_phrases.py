"""English: what operators read is said in the industry's words; these phrases were not."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.repo import tree

PHRASES = {
    "late and thin": "slow and narrow",
    "instead of guessing": "default: detected",
    "there are the labs": "known labs",
    "lead over on purpose": "leadership",
    "is told to lead": "is asked to",
    "money neither appears": "the total balance never changes",
    "more may go": "can lose N more nodes",
    "an election is due": "waiting for an election",
    "way from here to there": "the network path",
    "behaves otherwise": "behaviour changes",
    "is to spare": "no failure can be tolerated",
    "their fate in time": "timed out with an unknown outcome",
    "speaks against": "eligible, or the reason why not",
    "option that does not exist": "unknown option",
    "is no address": "is not an address (host:port)",
    "with all its tuples": "drops it and all its tuples",
    "an unknown number of": "count unknown",
    "does not help by itself": "only with the token, only after the cause is fixed",
    "who waits behind": "an entry queued behind",
    "that was promised broke": "all guarantees held",
    "judged, with a memory": "check each, resume",
    "speak to a cluster": "connect to, open a shell",
    "a moment a second": "one sample per second",
    "pictures a second": "frames per second",
    "one picture, and end": "print one frame and exit",
    "where somebody looks": "terminals only",
    "only now and then": "starvation",
    "two halves that only": "two halves joined by",
    "where the node says no": "limits",
    "what it tells machines": "metrics and health endpoint",
    "what is no history": "the input is not a history",
    "made a digit another": "a flipped digit",
    "turns one round": "inverts it",
    "unless told otherwise": "by default",
    "let nothing pass": "block",
    "link whole again": "remove all faults",
    "look a cluster over": "diagnose",
    "who shall lead": "the node that becomes the leader",
    "after so long": "time limit",
    "give up after so": "time limit",
    "what one node says of itself": "the status of one node",
    "nobody could say in time": "was not known in time",
    "shaking took": "no reply to the handshake",
    "done if there is": "succeed if it exists already, if it does not exist",
    "make one up": "generate one",
    "as the space says": "the setting of the space",
    "whoever asks there": "every request",
    "hold two runs": "compare two runs",
    "waited for its fate": "waited to be decided",
    "fate was told": "outcome was sent",
    "told its fate": "has a known outcome",
    "fate could not be told": "outcome was not known in time",
    "told by the leader": "reported by the leader",
    "is read there without": "can only be read with that key",
    "with all it was granted": "and its privileges",
    "entries shown of each": "how many entries to show",
    "in the place of the one": "replace",
    "put right again": "undone",
    "what each address met": "the error of each address",
    "speaks no version": "supports no protocol version",
    "a cure": "a fix",
    "the cure": "the fix",
    "its cure": "its fix",
    "told truly": "gets its true outcome",
    "what rests on": "what depends on",
    "has no say": "does not change it",
    "has a say": "changes it",
    "who restarts has": "a restarted voter",
    "row of files": "sequence of files",
    "row of segments": "sequence of segments",
    "for whoever": "name the reader, the caller, the client",
    "whoever judges": "the properties, the checker",
    "who lost its": "a node that lost its",
    "who has trimmed": "a node that trimmed",
    "who is removed": "a removed node",
    "who is superseded": "a superseded node",
    "what shows it": "tests",
    "vouches for": "guarantees",
    "come to be": "take effect, be confirmed",
    "what is kept is bounded": "stored state is bounded",
    "there is nothing of it yet": "not implemented yet",
    "beside others": "compared with other systems",
    "so to speak": "leave it out",
    "is told of everything": "observes everything",
    "to whoever": "name the reader, the caller, the client",
    "whoever leads": "the leader at that time",
    "makes its rows anew": "rebuilds its rows",
    "who says otherwise": "nodes that disagree",
    "nobody leads, and only": "there is no leader, and only",
    "is no undo log": "is not an undo log",
    "is no report of": "is not a report",
    "not told where to read": "has no path",
    "what is acked is on": "acked entries are on",
    "the time to come to rest": "did not wait for the cluster to come to rest",
    "when anything was": "has no times",
    "makes all links whole": "heals all links",
    "everybody reaches only": "every node reaches only",
    "is heard by nobody": "cannot send",
    "hears nobody but": "cannot receive",
    "dice are their own": "have their own random generator",
    "nobody is struck": "stop all faults",
    "who is struck": "the victim",
    "what a client has in mind": "the state of a client",
    "so many were given": "the number of requests",
    "from now on it is a good": "heal the network, the disk",
    "who asks over a connection": "operators with their own connection",
    "who knocked next": "accept the next connection",
    "nobody in front of it": "without a user",
    "was under way: it may": "was running: it may",
    "what it is called": "its name",
    "what comes of it": "the results",
    "held against the log": "checked against the log",
    "what an operator asks for": "a request of an operator",
}
"""What is not written any more, in any case of its letters, and what is written instead."""
KEPT = ("docs/news/", "docs/changelog.md", "docs/glossary.md", "docs/decisions/")
"""History."""


def squeezed(text: str) -> str:
    """In one line and in small letters, so that a line's end hides nothing."""
    return re.sub(r"\s+", " ", text).lower()


def texts(path: Path) -> Iterator[str]:
    """What people read of a file: all of a page, and the strings of a module."""
    if path.suffix != ".py":
        yield squeezed(path.read_text(encoding="utf-8"))
        return
    for node in ast.walk(tree.parse(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield squeezed(node.value)


READ = [
    path
    for path in tree.files(".py", ".md", ".yaml")
    if tree.name(path).startswith((*tree.PACKAGES, "docs/", "README"))
    and not tree.name(path).startswith(KEPT)
]


def found(text: str) -> list[str]:
    return [phrase for phrase in PHRASES if phrase in text]


def test_a_phrase_is_found_over_the_end_of_a_line() -> None:
    assert found(squeezed("An election\n  is DUE.")) == ["an election is due"]


@pytest.mark.parametrize("phrase", PHRASES)
def test_no_page_and_no_message_has_a_phrase_that_has_a_better_one(phrase: str) -> None:
    where = [name for name, text in everything() if phrase in text]
    assert where == [], f"write: {PHRASES[phrase]}"


def everything() -> list[tuple[str, str]]:
    if not _ALL:
        _ALL.extend((tree.name(path), text) for path in READ for text in texts(path))
    return _ALL


_ALL: list[tuple[str, str]] = []
