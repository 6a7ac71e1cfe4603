"""Broken rules of recovery from one survivor: membership.md M8."""

from typing import Final

from typing_extensions import override

from election.messages import Index, Term
from qsync.core.configuration import Codec
from qsync.core.logstart import LogStart
from qsync.data import schema
from qsync.data.ancestors import Ancestor
from qsync.data.founding import RewrittenRows
from qsync.member import Member
from qsync.sim.generations import ExploredCluster, GenerationRules
from qsync.sim.mutants.mutant import Mutant
from qsync.store.memory import MemorySpaces


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
        """Whoever was begun again as often."""
        return mine.generation == theirs.generation


class _RestoresAll(GenerationRules):
    @override
    def restored_upto(self, _wanted: Index, last: Index) -> Index:
        """All that there is."""
        return last


class _DecidesByItsPart(GenerationRules):
    @override
    def decided_by(self, wanted: Index, _last: Index) -> Index:
        """Nobody looks at what is behind the chosen entry."""
        return wanted


class _KeepsVoters(GenerationRules):
    @override
    def founded(self, ended: LogStart, member: Member, codec: Codec) -> LogStart:
        """The voters are those of the log that ended."""
        return ended


class _KeepsSessions(GenerationRules):
    @override
    def rewrite(self, rows: MemorySpaces, member: Member, ancestor: Ancestor | None) -> None:
        """The sessions stay, with all that they know of requests."""
        sessions = list(rows.scan(*schema.keys_of(schema.SESSION)))
        super().rewrite(rows, member, ancestor)
        rows.fold(RewrittenRows(folded=rows.folded, puts=sessions, deletes=[]))


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
        name="generation_keeps_voters",
        rule="membership.md M8 c",
        without="the recovered cluster begins with the voters of the old one",
        generations=_KeepsVoters(),
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
    Mutant(
        name="generation_keeps_sessions",
        rule="membership.md M8 g",
        without="the recovered cluster keeps the client sessions of the old one",
        generations=_KeepsSessions(),
    ),
    Mutant(
        name="restore_goes_on",
        rule="membership.md M8 i",
        without="a restored cluster also has what is behind the chosen index",
        generations=_RestoresAll(),
    ),
    Mutant(
        name="restore_inside_stretch",
        rule="membership.md M8 i",
        without="a restore looks only at the log up to the chosen index, so it keeps entries that "
        "were rolled back behind it",
        generations=_DecidesByItsPart(),
    ),
)
IN_A_LIFE: Final = tuple(each.name for each in GENERATIONS if not each.harmless)
"""What these break a long life notices, in which clusters are made of others."""
