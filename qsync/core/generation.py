"""The generation of a history is the high part of its terms (membership.md M8 f)."""

from dataclasses import replace
from typing import Final

from election.messages import TERM_JUMP_MAX, Ballot, Index, Term
from qsync.core.configuration import Codec
from qsync.core.logstart import LogStart
from qsync.core.ready import Write
from qsync.member import Member

TERM_BITS: Final = 24
"""How many terms a generation has: sixteen million elections."""
GENERATIONS_MAX: Final = TERM_JUMP_MAX >> TERM_BITS
"""A node with an empty log follows a leader whose term is no further above its own."""


def generation_of(term: Term) -> int:
    """Return how many recoveries came before this term."""
    return term >> TERM_BITS


def first_term_of(generation: int) -> Term:
    """Return a term above all of the former generation, and below all leaders of that one."""
    assert 0 < generation < GENERATIONS_MAX
    return Term(generation << TERM_BITS)


def first_ballot(term: Term) -> Ballot:
    """The ballot of the node that begins a generation: it has not voted in its first term."""
    return Ballot(term=term, vote=None, member=True)


def first_write(term: Term) -> Write:
    """Return what is durable first on the new directory of that node."""
    return Write(
        id=0,
        cut_above=None,
        cut_reason="",
        entries=[],
        ballot=first_ballot(term),
        confirmed=Index(0),
    )


def founded_by(start: LogStart, member: Member, codec: Codec) -> LogStart:
    """Where the log of a generation begins: its one member is in force there (M8 a).

    Configurations of older generations do not count (M8 c): none of them is
    in a log that begins here.
    """
    return replace(start, configuration=codec.encode((member,), before=(member,)))
