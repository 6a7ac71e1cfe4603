"""A new cluster of one node from decided rows and log: for restores, and for a lone survivor."""

import json
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from admin.backup.replaying import DecidedLog
from admin.lab import cluster_secret
from admin.new_directory import check_new
from election import quorum
from election.messages import Index, Replica, Term
from qsync import audit
from qsync.config import NodeConfig
from qsync.config.secret import Secret
from qsync.core.generation import first_ballot, founded_by
from qsync.core.logstart import LogStart
from qsync.core.ready import Write
from qsync.data import ancestors, schema, tuples
from qsync.data.ancestors import Ancestor
from qsync.data.members import CODEC, row_of
from qsync.errors import ConfigError, StoreError
from qsync.member import Member
from qsync.record import read_instance
from qsync.store.contract import Identity, Spaces
from qsync.store.directory import Directory
from qsync.store.environment import sync_directory, write_whole
from qsync.store.opening import open_log
from qsync.store.private import make_private
from qsync.store.snapfiles import SNAPSHOTS, write_snapshot
from qsync.store.spaces import SpaceStore

FILE: Final = "node.yaml"
"""Written last: `qsync start` wants it, and so never starts what is half restored."""
UNREADY: Final = "restoring"
"""There before anything else is: a directory with it, and without `FILE`, is begun anew."""
_QUORUM: Final = "replication.synchro_quorum"
_LOST_AND_FOUND: Final = "lost+found"
"""Where a disk of its own is mounted; the file system's, and only root may look into it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewNode:
    """The one member: where it is made, and its options by their dotted names."""

    directory: Path
    options: Mapping[str, str] = field(default_factory=dict)

    def config(self, cluster: str, *, descends: bool) -> tuple[NodeConfig, Secret]:
        """A draft of its configuration, and the secret that is put beside it. Raises ConfigError.

        A cluster that descends from another one has the same secret, or none as that one had: its
        nodes prove to those of the other that they are superseded.
        """
        fixed = sorted({"peers", "cluster.id", "node.dir"} & set(self.options))
        if fixed:
            raise ConfigError(
                f"{fixed[0]} is not chosen: it is a new cluster of one node in {self.directory}"
            )
        kept = cluster_secret.taken if descends else cluster_secret.founding
        options, secret = kept(self.options)
        return NodeConfig.draft({**options, "cluster.id": cluster}), secret


@dataclass(frozen=True, slots=True)
class AuditNote:
    """What was done to the directory of a node that does not run."""

    event: str
    fields: Mapping[str, object]

    def write(self, directory: Path) -> None:
        """As a line of its audit trail. Raises StoreError."""
        try:
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            audit.note_offline(directory, self.event, now, self.fields)
        except OSError as error:
            raise StoreError(f"{directory / audit.FILE}: {error.strerror}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundedCluster:
    """A new cluster of one node. `index`: its log goes on behind that."""

    config: NodeConfig
    index: int
    rows: int
    dropped: tuple[str, ...]


def found_cluster(
    node: NewNode,
    log: DecidedLog,
    term: Term,
    take: Callable[[SpaceStore], None],
    progress: Callable[[int], None] = lambda _: None,
    *,
    ancestor: Ancestor | None = None,
    noted: AuditNote,
    wait: Callable[[Spaces], None] = lambda _: None,
) -> FoundedCluster:
    """Make the directory of a new cluster's one node; it goes on where a decided log ends.

    `take`: puts the rows in place as they are where that log begins. `progress`: up to which entry
    of it they were brought. `ancestor`: the cluster that ends with it, if one does. `noted`: with
    which line its audit trail begins. `wait`: returns when the node may be started; it sees the
    rows. Raises DirectoryNotEmpty, ConfigError, StoreError.
    """
    cluster = str(uuid.uuid4())
    draft, secret = node.config(cluster, descends=ancestor is not None)
    check_empty(node.directory)
    _begin(node.directory, cluster)
    instance = str(uuid.uuid4())
    member = Member(
        Replica(draft.node.id),
        read_instance(instance),
        name=draft.node.name,
        address=str(draft.address),
    )
    identity = Identity(
        cluster=cluster,
        instance=instance,
        replica=member.replica,
        name=member.name,
        founders=(member,),
    )
    with Directory(node.directory, wanted=identity) as directory:
        with closing(SpaceStore(directory.data)) as spaces:
            take(spaces)
            log.fold_into(spaces, progress)
            start = founded_by(log.start_behind(), member, CODEC)
            dropped = found_anew(spaces, member, ancestor)
            rows = sum(each.rows for each in spaces.sums.groups.values())
            if start.index:  # else the log begins with its first entry, and needs no snapshot
                _write_snapshot(directory.path, spaces, start)
            wait(spaces)
        with closing(open_log(directory)) as new_log:
            new_log.recover()
            new_log.write(_ballot(term))
            if start.index:
                new_log.begin_at(start)
    noted.write(node.directory)
    cluster_secret.put(node.directory, secret)
    _finish(node.directory, draft.to_yaml())
    config = NodeConfig.load(node.directory / FILE, {})
    return FoundedCluster(config=config, index=start.index, rows=rows, dropped=dropped)


def _write_snapshot(directory: Path, spaces: SpaceStore, start: LogStart) -> None:
    view = spaces.view()
    try:
        write_snapshot(directory / SNAPSHOTS, view, start)
    finally:
        view.close()


def check_empty(directory: Path) -> None:
    """Raises DirectoryNotEmpty, unless all that is there was left half-way by a restore."""
    if not _is_half_done(directory):
        check_new(
            directory,
            hint="name a new directory; nothing was changed",
            ignored=frozenset({_LOST_AND_FOUND}),
        )


def found_anew(spaces: Spaces, member: Member, ancestor: Ancestor | None = None) -> tuple[str, ...]:
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
    for key, name, value in shared_settings(spaces):
        if confirms_nothing_alone(name, value):
            deletes.append(key)
            dropped.append(f"{name} = {value}")
    cluster = schema.Schema(schema.SYSTEM).space(schema.CLUSTER).primary
    own = cluster.key([int(member.replica)], whole=True)
    spaces.fold(
        _Rewrite(
            folded=spaces.folded,
            puts=sorted([(own, tuples.encode(row_of(member))), *descends.items()]),
            deletes=sorted(key for key in deletes if key != own),
        )
    )
    spaces.sync()
    return tuple(dropped)


def shared_settings(spaces: Spaces) -> Iterator[tuple[bytes, str, str]]:
    """Key, name and value of each option that the cluster of these rows shares."""
    for key, row in spaces.scan(*schema.keys_of(schema.SETTINGS)):
        name, value = map(str, tuples.stored(row))
        yield key, name, value


def confirms_nothing_alone(name: str, value: str) -> bool:
    """Return whether a cluster with one member could confirm nothing with this option."""
    return name == _QUORUM and quorum.parse(value, unsafe=True).misfit(1) is not None


def _descent(spaces: Spaces, ancestor: Ancestor | None) -> dict[bytes, bytes]:
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
class _Rewrite:
    """See `contract.FoldedRows`."""

    folded: Index
    puts: Sequence[tuple[bytes, bytes]]
    deletes: Sequence[bytes]


def _ballot(term: Term) -> Write:
    return Write(
        id=0,
        cut_above=None,
        cut_reason="",
        entries=[],
        ballot=first_ballot(term),
        confirmed=Index(0),
    )


def _begin(directory: Path, cluster: str) -> None:
    """An empty directory that says what it will be."""
    if _is_half_done(directory):
        for each in directory.iterdir():
            if each.name in {UNREADY, _LOST_AND_FOUND}:
                continue
            if each.is_dir():
                shutil.rmtree(each)
            else:
                each.unlink()
    make_private(directory)
    (directory / UNREADY).write_text(json.dumps({"cluster": cluster}) + "\n", "utf-8")
    sync_directory(directory)


def _finish(directory: Path, text: str) -> None:
    write_whole(directory / FILE, text.encode())
    (directory / UNREADY).unlink()
    sync_directory(directory)


def _is_half_done(directory: Path) -> bool:
    return (directory / UNREADY).is_file() and not (directory / FILE).exists()
