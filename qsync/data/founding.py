"""The rows of a cluster that ended become those of a new cluster with one member."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from election import quorum
from election.messages import Index
from qsync.data import ancestors, schema, tuples
from qsync.data.ancestors import Ancestor
from qsync.data.members import row_of
from qsync.member import Member

_QUORUM: Final = "replication.synchro_quorum"


class FoundingRows(Protocol):
    """The rows where the new log begins; see `qsync.store.contract.Spaces`."""

    @property
    def folded(self) -> Index:
        """The index at which they hold."""

    def scan(self, lo: bytes, hi: bytes) -> Iterable[tuple[bytes, bytes]]:
        """The rows with `lo <= key < hi`, in order."""

    def fold(self, fold: "RewrittenRows", /) -> None:
        """Take what is rewritten."""

    def sync(self) -> Index:
        """Make it durable."""


def found_anew(
    spaces: FoundingRows, member: Member, ancestor: Ancestor | None = None
) -> tuple[str, ...]:
    """The rows become those of a cluster with one member. Settings that do not fit it, dropped.

    Sessions end with the cluster that they were of (membership.md M8 g), of its members none is a
    member of this one, and nobody has this one's log. What is restored beside a cluster that may
    live on supersedes nobody: only with an `ancestor` it descends from that, and its ancestors.
    """
    deletes = [
        key
        for space in (schema.SESSION, schema.CLUSTER, schema.GC_CONSUMERS)
        for key, _ in spaces.scan(*schema.keys_of(space))
    ]
    descends = _descent(spaces, ancestor)
    deletes += [
        key for key, _ in spaces.scan(*schema.keys_of(schema.ANCESTORS)) if key not in descends
    ]
    dropped: list[str] = []
    for key, text in unfit_settings(spaces.scan(*schema.keys_of(schema.SETTINGS))):
        deletes.append(key)
        dropped.append(text)
    cluster = schema.Schema(schema.SYSTEM).space(schema.CLUSTER).primary
    own = cluster.key([int(member.replica)], whole=True)
    spaces.fold(
        RewrittenRows(
            folded=spaces.folded,
            puts=sorted([(own, tuples.encode(row_of(member))), *descends.items()]),
            deletes=sorted(key for key in deletes if key != own),
        )
    )
    spaces.sync()
    return tuple(dropped)


def shared_settings(rows: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, str, str]]:
    """Key, name and value of each option that a cluster shares, by the rows of `_settings`."""
    for key, row in rows:
        name, value = map(str, tuples.stored(row))
        yield key, name, value


def unfit_settings(rows: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, str]]:
    """Key and text of each of these options that a cluster with one member drops."""
    for key, name, value in shared_settings(rows):
        if confirms_nothing_alone(name, value):
            yield key, f"{name} = {value}"


def confirms_nothing_alone(name: str, value: str) -> bool:
    """Return whether a cluster with one member could confirm nothing with this option."""
    return name == _QUORUM and quorum.parse(value, unsafe=True).misfit(1) is not None


def _descent(spaces: FoundingRows, ancestor: Ancestor | None) -> dict[bytes, bytes]:
    """The rows of the ancestors, by their keys."""
    if ancestor is None:
        return {}
    rows = (row for _, row in spaces.scan(*schema.keys_of(schema.ANCESTORS)))
    primary = schema.Schema(schema.SYSTEM).space(schema.ANCESTORS).primary
    return {
        primary.key([each.generation], whole=True): tuples.encode(ancestors.row_of(each))
        for each in [*ancestors.ancestors_of(rows), ancestor]
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class RewrittenRows:
    """The replacements in a new cluster; see `qsync.store.contract.FoldedRows`."""

    folded: Index
    puts: Sequence[tuple[bytes, bytes]]
    deletes: Sequence[bytes]
