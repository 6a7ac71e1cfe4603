"""A new cluster of one node from decided rows and log: for restores, and for a lone survivor."""

import json
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from admin.lab import cluster_secret
from admin.lab.new_directory import check_new, lock_file
from election.messages import Replica, Term
from qsync import audit
from qsync.config import NodeConfig
from qsync.config.secret import Secret
from qsync.core.generation import first_write, founded_by
from qsync.core.logstart import LogStart
from qsync.data.ancestors import Ancestor
from qsync.data.founding import found_anew
from qsync.data.members import CODEC
from qsync.decided import DecidedLog
from qsync.directory_files import CONFIG_FILE, UNREADY
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

_LOST_AND_FOUND: Final = "lost+found"
"""Where a disk of its own is mounted; the file system's, and only root may look into it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewNode:
    """The one member: where it is made, and its options by their dotted names."""

    directory: Path
    options: Mapping[str, str] = field(default_factory=dict)

    def check(self) -> None:
        """Raises DirectoryNotEmpty, ConfigError if it cannot be made of a backup."""
        self.config(str(uuid.uuid4()), descends=False)
        check_empty(self.directory)

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
    """A change to the directory of a stopped node."""

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
    rows. Raises DirectoryNotEmpty, DirectoryLocked, ConfigError, StoreError.
    """
    cluster = str(uuid.uuid4())
    draft, secret = node.config(cluster, descends=ancestor is not None)
    check_empty(node.directory)
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
    with _begun(node.directory, cluster):
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
                new_log.write(first_write(term))
                if start.index:
                    new_log.begin_at(start)
        noted.write(node.directory)
        cluster_secret.put(node.directory, secret)
        _finish(node.directory, draft.to_yaml())
    config = NodeConfig.load(node.directory / CONFIG_FILE, {})
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


@contextmanager
def _begun(directory: Path, cluster: str) -> Iterator[None]:
    """An empty directory that says what it will be, and that nobody else fills meanwhile.

    Raises DirectoryLocked while another one does, DirectoryNotEmpty when it has.
    """
    was_half_done = _is_half_done(directory)
    make_private(directory)
    with (directory / UNREADY).open("a", encoding="utf-8") as file:
        lock_file(file, f"{directory} is being filled by another restore or recovery")
        if (directory / CONFIG_FILE).exists():  # it has ended just now
            (directory / UNREADY).unlink(missing_ok=True)
            check_empty(directory)
        if was_half_done:
            _clear(directory)
        file.truncate(0)
        file.write(json.dumps({"cluster": cluster}) + "\n")
        file.flush()
        sync_directory(directory)
        yield


def _clear(directory: Path) -> None:
    for each in directory.iterdir():
        if each.name in {UNREADY, _LOST_AND_FOUND}:
            continue
        if each.is_dir():
            shutil.rmtree(each)
        else:
            each.unlink()


def _finish(directory: Path, text: str) -> None:
    write_whole(directory / CONFIG_FILE, text.encode())
    (directory / UNREADY).unlink()
    sync_directory(directory)


def _is_half_done(directory: Path) -> bool:
    return (directory / UNREADY).is_file() and not (directory / CONFIG_FILE).exists()
