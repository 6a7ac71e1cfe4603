"""Recovery of a cluster from a survivor of another one (membership.md M8), for explored nodes.

`admin.recovery` does the same with files, by the same rules of `qsync.core.generation`.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from election.messages import Index, Term
from qsync.core.configuration import Codec
from qsync.core.generation import first_term_of, founded_by, generation_of
from qsync.core.logstart import EMPTY, LogStart
from qsync.core.replicated_log import ReplicatedLog
from qsync.core.trimming import start_at
from qsync.data.ancestors import Ancestor
from qsync.data.founding import found_anew
from qsync.data.sessions import PLACE_BYTES, birthplace
from qsync.member import Member
from qsync.store.memory import MemorySpaces


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploredCluster:
    """The cluster of a directory.

    `ancestors`: the clusters that it was recovered from, oldest first.
    """

    id: str = "first"
    ancestors: tuple[str, ...] = ()
    begins: LogStart = EMPTY
    """Its own log begins after that entry of its ancestor's log."""
    kept: frozenset[tuple[int, int]] = frozenset()
    """Index and term of all entries of the survivor that its log did not roll back."""

    @property
    def generation(self) -> int:
        """How often it was recovered."""
        return len(self.ancestors)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveredCluster:
    """A cluster recovered from one survivor, in a new directory.

    `log`: the survivor's, with its confirmed index. `wanted`: the last entry that the operator
    wants. `ended`: the log up to the beginning of the new one, `begins` the same in the new
    cluster. `term`: its first. `seen`: the newest term of any node of the old one. `rows`: the rows
    at its beginning.
    """

    member: Member
    log: ReplicatedLog
    wanted: Index
    ended: LogStart
    begins: LogStart
    term: Term
    seen: Term
    rows: MemorySpaces


FIRST = ExploredCluster()
"""The cluster of all nodes before a majority is lost."""


class GenerationRules:
    """As shipped. Mutants replace it."""

    def first_term(self, seen: Term) -> Term:
        """The first term of the new cluster (M8 f)."""
        return first_term_of(generation_of(seen) + 1)

    def counts_upto(self, _confirmed: Index, last: Index) -> Index:
        """It confirms the survivor's whole log (M8 a)."""
        return last

    def restored_upto(self, wanted: Index, _last: Index) -> Index:
        """The log ends at the chosen entry; what is behind it is not in the new cluster (M8 i)."""
        return wanted

    def decided_by(self, _wanted: Index, last: Index) -> Index:
        """What is behind the chosen entry still says what was rolled back (M8 i)."""
        return last

    def founded(self, ended: LogStart, member: Member, codec: Codec) -> LogStart:
        """No configuration of an older generation counts (M8 c)."""
        return founded_by(ended, member, codec)

    def rewrite(self, rows: MemorySpaces, member: Member, ancestor: Ancestor | None) -> None:
        """The rows become those of the new cluster: sessions end with theirs (M8 g)."""
        found_anew(rows, member, ancestor)

    def lets_in(self, mine: ExploredCluster, theirs: ExploredCluster) -> bool:
        """Clusters are distinguished by their ids (M8 b, d)."""
        return mine.id == theirs.id


def is_ended(session: bytes, generation: int) -> bool:
    """Whether a session was opened in an older generation than that (M8 g)."""
    opened = len(session) > PLACE_BYTES
    return opened and generation_of(birthplace(session).term) < generation


@runtime_checkable
class RecoverableNode(Protocol):
    """A node from which a cluster may be recovered, and the rules that a mutant may replace."""

    generations: GenerationRules


def begin_anew(
    rules: GenerationRules,
    former: ExploredCluster,
    log: ReplicatedLog,
    member: Member,
    *,
    codec: Codec,
    confirmed: Index,
) -> ExploredCluster:
    """The cluster of one member that continues where a survivor's log ends.

    `log`: the survivor's, all of it decided. `confirmed`: its known confirmed index. `member`: with
    the instance of its new directory.
    """
    last = log.limbo.clip(log.log.last)
    start = start_at(log, log.limbo.clip(rules.counts_upto(confirmed, last)))
    kept = [
        (index, int(log.log.term_at(Index(index))))
        for index in range(log.log.start.index + 1, last + 1)
        if log.limbo.stretch_at(Index(index)) is None
    ]
    return ExploredCluster(
        id=f"{former.generation + 2} of {int(member.replica)}",
        ancestors=(*former.ancestors, former.id),
        begins=rules.founded(start, member, codec),
        kept=former.kept | frozenset(kept),
    )
