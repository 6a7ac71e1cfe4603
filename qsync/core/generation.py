"""The generation of a history is the high part of its terms (membership.md M8 f)."""

from typing import Final

from election.messages import TERM_JUMP_MAX, Term

TERM_BITS: Final = 24
"""A generation has so many terms: sixteen million elections."""
GENERATIONS_MAX: Final = TERM_JUMP_MAX >> TERM_BITS
"""A node with an empty log follows a leader whose term is no further above its own."""


def generation_of(term: Term) -> int:
    """How often the history that this term is of was begun anew."""
    return term >> TERM_BITS


def first_term_of(generation: int) -> Term:
    """Below all terms in which somebody leads in that generation, above those of the former."""
    assert 0 < generation < GENERATIONS_MAX
    return Term(generation << TERM_BITS)
