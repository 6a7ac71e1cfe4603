"""A new cluster of one node from a backup: its directory, as of one index of the old one.

It is never the old cluster again (membership.md M7 b, M8 i): another cluster id, another instance,
terms that the old one did not come to, no sessions, and one member. So nothing that still runs or
comes back of the old one can meet it, no receipt of the old one names an entry of it, and no late
request of an old session is applied. What was written behind the index stays in the backup.
"""

import json
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from admin.backup import catalogue, points, sealing
from admin.backup.catalogue import Catalogue
from admin.backup.failures import BackupDamaged, BackupGap
from admin.backup.log_archive import Progress
from admin.backup.points import RestorePoint, WantedPoint
from admin.backup.replaying import DecidedLog
from admin.backup.rows import frames_of
from election import quorum
from election.messages import Index, Replica, Term
from qsync import audit
from qsync.config import NodeConfig
from qsync.core.generation import first_ballot, first_term_of, founded_by, generation_of
from qsync.core.logstart import LogStart
from qsync.core.ready import Write
from qsync.data import ancestors, schema, tuples
from qsync.data.ancestors import Ancestor
from qsync.data.members import CODEC, row_of
from qsync.errors import ConfigError, Damaged, StoreError
from qsync.member import Member
from qsync.record import CHAIN_SEED, Entry, read_instance
from qsync.store.contract import Identity, Spaces
from qsync.store.directory import Directory
from qsync.store.environment import sync_directory, write_whole
from qsync.store.opening import open_log
from qsync.store.private import make_private
from qsync.store.snapfiles import SNAPSHOTS, write_snapshot
from qsync.store.snapshot import decode_head
from qsync.store.spaces import SpaceStore

FILE: Final = "node.yaml"
"""Written last: `qsync start` wants it, and so never starts what is half restored."""
UNREADY: Final = "restoring"
"""There before anything else is: a directory with it, and without `FILE`, is begun anew."""
_QUORUM: Final = "replication.synchro_quorum"
_LOST_AND_FOUND: Final = "lost+found"
"""Where a disk of its own is mounted; the file system's, and only root may look into it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestorePlan:
    """What a restore makes. `index`: up to which entry; `clipped`: what was asked for, and why not.

    `term` and `generation`: in which the new cluster begins. `left_out`: entries that are kept
    behind that index. `dropped`: settings that do not fit a single node.
    """

    point: RestorePoint
    index: int
    clipped: str
    term: int
    generation: int
    left_out: int
    origin: str
    rows: int = 0
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewNode:
    """The one member: where it is made, and its options by their dotted names."""

    directory: Path
    options: Mapping[str, str] = field(default_factory=dict)

    def config(self, cluster: str) -> str:
        """The text of its configuration. Raises ConfigError."""
        fixed = sorted({"peers", "cluster.id", "node.dir"} & set(self.options))
        if fixed:
            raise ConfigError(
                f"{fixed[0]} is not chosen: it is a new cluster of one node in {self.directory}"
            )
        return NodeConfig.template({**self.options, "cluster.id": cluster})


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


def plan(found: Catalogue, wanted: WantedPoint) -> tuple[RestorePlan, DecidedLog]:
    """Which index, of what; reads the log that decides it. Changes nothing.

    Raises NoBackup, BackupGap, BackupDamaged.
    """
    point = points.find(found, wanted)
    backup = point.backup

    def batches() -> Iterator[list[Entry]]:
        return catalogue.batches(
            found.place,
            list(point.chain),
            after=backup.index,
            crc=backup.crc if backup.index else CHAIN_SEED,
        )

    log = DecidedLog(point.start, batches, upto=point.upto, index=point.index)
    if not log.last:
        raise BackupGap(f"nothing was confirmed up to {wanted}: there is nothing to restore")
    stretch, clipped = log.stretch, ""
    if stretch is not None:
        clipped = (
            f"index {point.index} lies in a stretch that was rolled back, "
            f"{stretch.first}..{stretch.rollback}: restored is what was before it"
        )
    generation = generation_of(Term(max(log.last_term, _newest_term(found)))) + 1
    made = RestorePlan(
        point=point,
        index=log.last,
        clipped=clipped,
        term=first_term_of(generation),
        generation=generation,
        left_out=max(0, point.reach - log.last),
        origin=backup.cluster,
    )
    return made, log


def restore(
    found: Catalogue, wanted: WantedPoint, node: NewNode, progress: Progress
) -> tuple[RestorePlan, NodeConfig]:
    """Make the directory of the new cluster's one node; whole when this returns.

    Raises ConfigError when something is in the directory, NoBackup, BackupGap, BackupDamaged,
    StoreError; then it cannot be started, and the same call begins anew. BackupKeyRefused for a key
    that only seals.
    """
    sealing.check_opens(found.place)
    made, log = plan(found, wanted)
    backup = made.point.backup
    founded = found_cluster(
        node,
        log,
        Term(made.term),
        lambda spaces: take_rows(found, made.point, spaces, progress),
        lambda at: progress("log", at - backup.index, made.index),
        noted=AuditNote(
            "restored",
            {
                "cluster": made.origin,
                "from": found.place.url,
                "backup": backup.index,
                "index": made.index,
                "left_out": made.left_out,
            },
        ),
    )
    return replace(made, rows=founded.rows, dropped=founded.dropped), founded.config


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
    rows. Raises ConfigError when something is in the directory, StoreError.
    """
    cluster = str(uuid.uuid4())
    text = node.config(cluster)
    config = NodeConfig.loads(text, where="--set")
    check_empty(node.directory)
    _begin(node.directory, cluster)
    instance = str(uuid.uuid4())
    member = Member(
        Replica(config.node.id),
        read_instance(instance),
        name=config.node.name,
        address=str(config.address),
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
    _finish(node.directory, text)
    return FoundedCluster(config=config, index=start.index, rows=rows, dropped=dropped)


def _write_snapshot(directory: Path, spaces: SpaceStore, start: LogStart) -> None:
    view = spaces.view()
    try:
        write_snapshot(directory / SNAPSHOTS, view, start)
    finally:
        view.close()


def check_empty(directory: Path) -> None:
    """Raises ConfigError when something is there that no restore has left half-way."""
    if not directory.exists() or _is_half_done(directory):
        return
    there = sorted(each.name for each in directory.iterdir())
    if there and there != [_LOST_AND_FOUND]:
        raise ConfigError(
            f"{directory} is not empty: it holds {', '.join(there[:5])}",
            hint="a restore wants a new directory; nothing was changed",
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
    for key, row in spaces.scan(*schema.keys_of(schema.SETTINGS)):
        name, value = map(str, tuples.stored(row))
        if name == _QUORUM and quorum.parse(value, unsafe=True).misfit(1) is not None:
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


def _newest_term(found: Catalogue) -> int:
    """Of all that is kept: also what lies behind the index was answered to somebody."""
    return max([0, *(each.term for each in found.log), *(each.term for each in found.backups)])


def take_rows(found: Catalogue, point: RestorePoint, spaces: Spaces, progress: Progress) -> None:
    """The rows of the backup itself. Raises BackupDamaged, StoreError."""
    backup = point.backup
    if not backup.index:
        return
    done, all_ = 0, sum(each.size for each in backup.parts)

    def pieces() -> Iterator[bytes]:
        nonlocal done
        for each in backup.parts:
            yield catalogue.read_part(found.place, each)
            done += each.size
            progress("rows", done, all_)

    frames = frames_of(pieces())
    try:
        head = decode_head(next(frames, b""))
        if head.start != point.start:
            raise BackupDamaged(f"the rows of backup {backup.index} are those of another one")
        rows = spaces.importing(head)
        try:
            for frame in frames:
                rows.take_chunk(frame)
            rows.finish()
        finally:
            rows.close()
        spaces.install(rows)
    except Damaged as error:
        raise BackupDamaged(f"the rows of backup {backup.index}: {error.message}") from error


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
