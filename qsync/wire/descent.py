"""Which of two clusters was made of the other: how an old node learns that it is superseded.

A cluster that was made of a survivor sends the ids of its ancestors among the features of its
handshake (membership.md M8 e). Ids alone supersede no node: the other side accepts them only
with the proof that ends a handshake, so who does not know the cluster's secret cannot say them.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from qsync.errors import SplitBrain, Superseded

_WORD: Final = "ancestor:"


class Descent(StrEnum):
    """The relation of the other side's cluster to ours."""

    NONE = "none"
    """The same one, or a foreign one."""
    ANCESTOR = "ancestor"
    """Ours was made of theirs: they are superseded."""
    DESCENDANT = "descendant"
    """Theirs was made of ours: we are superseded."""
    SIBLING = "sibling"
    """Both were made of one cluster, by two recoveries: neither supersedes the other."""


def words_of(ancestors: Iterable[str]) -> tuple[str, ...]:
    """Return the descent as words of a handshake."""
    return tuple(_WORD + each for each in ancestors)


def told_in(words: Iterable[str]) -> frozenset[str]:
    """The ancestors among the words of a handshake."""
    return frozenset(word.removeprefix(_WORD) for word in words if word.startswith(_WORD))


def between(
    mine: str, my_words: Iterable[str], theirs: str | None, their_words: Iterable[str]
) -> Descent:
    """Return the relation of the cluster `theirs` to `mine`, by what both say."""
    if theirs is None or theirs == mine:
        return Descent.NONE
    my_ancestors, their_ancestors = told_in(my_words), told_in(their_words)
    if mine in their_ancestors:
        # Two that call each other ancestor tell no truth.
        return Descent.NONE if theirs in my_ancestors else Descent.DESCENDANT
    if theirs in my_ancestors:
        return Descent.ANCESTOR
    return Descent.SIBLING if my_ancestors & their_ancestors else Descent.NONE


def superseded_node(name: str, by: str) -> Superseded:
    """Return the error for a node whose history goes on in that cluster."""
    return Superseded(f"{name} is superseded: its history continues in cluster {by}")


def two_recoveries(mine: str, theirs: str) -> SplitBrain:
    """Return the error for a sibling."""
    return SplitBrain(
        f"clusters {mine} and {theirs} were both made of one cluster, by two recoveries",
        hint="choose one, and stop the other: nothing brings them together",
    )
