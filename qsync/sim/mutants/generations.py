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
        without="a forced recovery goes on from what the survivor knew as confirmed, not from all",
        generations=_DropsPending(),
    ),
    Mutant(
        name="generation_by_number",
        rule="membership.md M8 b",
        without="two clusters that were made of one are taken for the same",
        generations=_ByNumber(),
        harmless="a second line: each begins with an entry of its own that it confirms alone, and "
        "logs that were confirmed and differ are never joined",
    ),
    Mutant(
        name="generations_meet",
        rule="membership.md M8 d",
        without="nodes of the old cluster and of the one that was made of it are peers",
        generations=_MeetsAll(),
    ),
    Mutant(
        name="generation_keeps_terms",
        rule="membership.md M8 f",
        without="the new cluster goes on with the terms of the old one",
        generations=_KeepsTerms(),
    ),
)
