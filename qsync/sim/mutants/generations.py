"""Broken rules of a cluster that is made of one survivor: membership.md M8."""

from typing_extensions import override

from election.messages import Index, Term
from qsync.sim.generations import ExploredCluster, GenerationRules
from qsync.sim.mutants.mutant import Mutant


class _KeepsTerms(GenerationRules):
    @override
    def first_term(self, seen: Term) -> Term:
        """As after any other restart."""
        return seen


class _DropsPending(GenerationRules):
    @override
    def counts_upto(self, confirmed: Index, last: Index) -> Index:
        """No further than the survivor knew as confirmed."""
        return min(confirmed, last)


class _MeetsAll(GenerationRules):
    @override
    def lets_in(self, mine: ExploredCluster, theirs: ExploredCluster) -> bool:
        """Whoever descends from the same cluster."""
        return True


class _ByNumber(GenerationRules):
    @override
    def lets_in(self, mine: ExploredCluster, theirs: ExploredCluster) -> bool:
        """Whoever was begun anew as often."""
        return mine.generation == theirs.generation


GENERATIONS = (
    Mutant(
        name="generation_drops_pending",
        rule="membership.md M8 a",
        without="a forced recovery keeps only what the survivor knew as confirmed, not its whole "
        "log",
        generations=_DropsPending(),
    ),
    Mutant(
        name="generation_by_number",
        rule="membership.md M8 b",
        without="two clusters recovered from the same cluster count as one",
        generations=_ByNumber(),
        harmless="a second defence: each begins with an entry of its own that it confirms alone, "
        "and different confirmed logs are never merged",
    ),
    Mutant(
        name="generations_meet",
        rule="membership.md M8 d",
        without="nodes of the old cluster and of the recovered one accept each other as peers",
        generations=_MeetsAll(),
    ),
    Mutant(
        name="generation_keeps_terms",
        rule="membership.md M8 f",
        without="the recovered cluster reuses the terms of the old one",
        generations=_KeepsTerms(),
    ),
)
