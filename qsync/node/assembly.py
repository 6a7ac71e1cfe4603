"""Makes the parts of a node from its configuration: opens storage, translates numbers."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from election.messages import Index, Replica
from qsync import features
from qsync.config import NodeConfig
from qsync.config.checks import address_among_peers
from qsync.core.config import CoreConfig
from qsync.core.configuration import Configuration
from qsync.core.logstart import LogStart
from qsync.data.overlay import OverlayLimits
from qsync.data.request import Limits
from qsync.errors import ConfigError, Damaged, Rebuilding
from qsync.node.effects import Effects
from qsync.options.core_options import CORE_OPTIONS
from qsync.record import read_instance
from qsync.replica import Replica as NodeReplica
from qsync.store import faults, superseded, unfinished
from qsync.store.contract import (
    Identity,
    Log,
    PlacedLog,
    PlacedSpaces,
    RecoveredLog,
    Spaces,
    StoreDirectory,
)
from qsync.store.directory import Directory, is_formatted
from qsync.store.eventfile import note_unsaid
from qsync.store.importing import pending, settle
from qsync.store.lives import Lives, LivesFile
from qsync.store.opening import Founder, found, is_log_missing, open_log, upgrade
from qsync.store.receiving import remove_incoming
from qsync.store.snapfiles import SNAPSHOTS, SnapshotFile, newest_whole, restore_rows
from qsync.store.snapfolder import DiskFolder, SnapshotFolder
from qsync.store.spaces import SpaceStore


@dataclass(slots=True, kw_only=True)
class NodeStorage:
    """An open, locked directory with its log and spaces."""

    directory: StoreDirectory
    log: PlacedLog
    spaces: PlacedSpaces
    lives: Lives
    recovered: RecoveredLog
    quarantined: str | None
    probe_s: float
    gone: str | None = None
    """Why the log is not where it was any more; reported before a write fails for it."""

    @property
    def timeline(self) -> Path | None:
        """The path of the timeline; None where none is kept."""
        return self.directory.path / "timeline.jsonl"

    def remake_rows(self) -> None:
        """Forget all rows, to rebuild them from the log; on a thread or in the loop, it waits.

        Where the log does not begin with the first entry they are those of a snapshot. Raises
        Damaged when there is none: then only another node has them.
        """
        self.spaces.wipe()
        start = self.log.start
        if not start.index:
            return
        folder = self.directory.path / SNAPSHOTS
        if restored(self.spaces, folder, start, last=self.log.last) is None:
            raise Damaged(
                f"the rows are lost, the log begins behind index {start.index}, and no snapshot "
                f"in {folder} holds",
                hint="start the node again: it sets the log aside and takes all from the leader",
            )

    @property
    def snapshots(self) -> Path | None:
        """The folder of snapshot files; None where there are no files beside the log."""
        return self.directory.path / SNAPSHOTS

    @property
    def snapshot_folder(self) -> SnapshotFolder | None:
        """The folder of the snapshots that the node writes by itself; None where it writes none."""
        return DiskFolder(self.directory.path / SNAPSHOTS)

    def look(self) -> bool:
        """Look whether the log is still where it was; return true when it newly is not."""
        before, self.gone = self.gone, self.log.gone()
        return self.gone is not None and before is None

    def close(self) -> None:
        """Close spaces before the log: what they have is what the log may drop one day."""
        try:
            self.spaces.close()
        finally:
            self.log.close()
            self.directory.close()


def found_cluster(configs: Iterable[NodeConfig]) -> None:
    """Make the directories of a new cluster, one for each of its members. See `founding.found`.

    Raises ConfigError unless the configurations are those of all members of one cluster.
    """
    members = list(configs)
    ids = {each.node.id for each in members}
    for each in members:
        named = {peer.id for peer in each.peers}
        if named != ids or each.cluster.id != members[0].cluster.id:
            raise ConfigError(
                f"{each.node.name} has the peers {sorted(named)} in cluster {each.cluster.id}; "
                f"the cluster that is founded is {members[0].cluster.id} of {sorted(ids)}",
                hint="all members are founded together, and each one names all of them",
            )
    found(
        members[0].cluster.id,
        [
            Founder(
                replica=Replica(each.node.id),
                name=each.node.name,
                path=Path(each.node.dir),
                address=str(address_among_peers(each)),
            )
            for each in members
        ],
    )


class WhoseFiles(Enum):
    """Whose files a directory has, as the operator says at the start of a node."""

    UNSAID = "unsaid"
    MOVED = "moved"
    """They are the only ones: nothing ran on others since they were copied."""
    COPIED = "copied"
    """They may be an old copy."""
    READ = "read"
    """Whatever they are, no node runs on them: they are only looked at."""


def open_storage(config: NodeConfig, *, files: WhoseFiles = WhoseFiles.UNSAID) -> NodeStorage:
    """Locks, opens and verifies the directory.

    A damaged log is set aside, and the node counts again when it has caught up. With term and vote
    lost, too, the directory becomes a new instance, which is a stranger (membership.md M5); so does
    an old copy of one (M7 c).
    """
    wanted = Identity(
        cluster=config.cluster.id,
        instance="",
        replica=Replica(config.node.id),
        name=config.node.name,
    )
    path = Path(config.node.dir)
    _check_usable(config, path)
    directory = Directory(path, wanted=wanted)
    try:
        if not directory.fresh and is_log_missing(directory):
            # Before another one is made: after a kill between the two it would pass for the old.
            directory.renew_instance()
        lives = _lives(directory, files)
        log = open_log(directory, map_size=config.store.map_size)
        # All of it: the core reads every header next, and what it reads must verify.
        recovered = log.recover()
        if recovered.untrusted:
            directory.renew_instance()
            log.identity = directory.identity
        if lives.is_old(directory.identity.instance) and files is not WhoseFiles.READ:
            recovered = _without_copy(directory, log, lives)
        recovered, quarantined = trusted(log, recovered)
        former, log = log, upgrade(directory, log)
        if log is not former:
            recovered = log.recover()
        settle(
            directory.data,
            begins=recovered.start.index,
            confirmed=min(recovered.confirmed, recovered.last),
        )
        arriving = pending(directory.data)
        remove_incoming(
            directory.path / SNAPSHOTS, keep=Index(0) if arriving is None else arriving.start.index
        )
        spaces = SpaceStore(directory.data, map_size=config.store.map_size)
        recovered = together(recovered, spaces)
        if spaces.folded < recovered.start.index:
            recovered, why = _with_rows(directory, log, recovered, spaces, files)
            quarantined = quarantined or why
        probe_s = directory.probe()
        if not config.node.events:
            _note_unsaid(directory)
    except BaseException:
        directory.close()
        raise
    return NodeStorage(
        directory=directory,
        log=log,
        spaces=spaces,
        lives=lives,
        recovered=recovered,
        quarantined=quarantined,
        probe_s=probe_s,
    )


def _check_usable(config: NodeConfig, path: Path) -> None:
    unfinished.check(path)
    if len(config.peers) == 1 and not is_formatted(path):
        raise ConfigError(
            f"{config.node.dir} is empty, and {config.node.name} is the only member of its cluster",
            hint="found the cluster first: `qsync init` does, or `qsync.Node(..., found=True)`",
        )
    superseded.check(path)


def _lives(directory: Directory, files: WhoseFiles) -> Lives:
    return LivesFile(
        directory.path,
        moved=files in {WhoseFiles.MOVED, WhoseFiles.READ},
        renewed=directory.identity.instance if files is WhoseFiles.COPIED else "",
    )


def _without_copy(directory: Directory, log: PlacedLog, lives: Lives) -> RecoveredLog:
    """Make a new instance of an old copy; keep its log aside. The order survives a kill.

    What its events do not tell anybody may have counted, so they are no evidence any more.
    """
    _note_unsaid(directory)
    log.start_over(why=f"an old copy of {lives.old}: {lives.why}", untrusted=True)
    directory.renew_instance()
    log.identity = directory.identity
    return log.recover()


def trusted(log: Log, recovered: RecoveredLog) -> tuple[RecoveredLog, str | None]:
    """Return the log, and why a damaged one was set aside, unless the directory is new."""
    why = recovered.quarantined
    if why is None:
        return recovered, None
    log.start_over(why=why, untrusted=recovered.untrusted)
    return log.recover(), None if recovered.untrusted else why


def together(recovered: RecoveredLog, spaces: Spaces) -> RecoveredLog:
    """Combine what log and spaces say into the state that the replica starts from."""
    if spaces.folded > recovered.last:
        spaces.wipe()
    # Rows are folded when they are decided, which the log may not have noted yet.
    return replace(recovered, confirmed=Index(max(recovered.confirmed, spaces.folded)))


def _with_rows(
    directory: Directory,
    log: PlacedLog,
    recovered: RecoveredLog,
    spaces: SpaceStore,
    files: WhoseFiles,
) -> tuple[RecoveredLog, str | None]:
    """The rows are lost, and the log alone cannot rebuild them: a snapshot must be there.

    Without one the log is of no use: it is set aside, and the node counts again when it has caught
    up (membership.md M5, a damaged log with term and vote intact). With the reason. Raises Damaged
    instead where no node is to run: it may be the last log that is left.
    """
    start, folder = recovered.start, directory.path / SNAPSHOTS
    found = restored(spaces, folder, start, last=recovered.last)
    if found is not None:
        spaces.rebuilt = spaces.rebuilt or f"taken from {found.path.name}"
        return together(recovered, spaces), None
    why = (
        f"rows up to index {start.index} are lost, the log begins behind it, and no snapshot in "
        f"{folder} holds"
    )
    if files is WhoseFiles.READ:
        raise Damaged(f"{directory.path}: {why}", hint="its log is as it was; see `qsync log`")
    spaces.wipe()
    log.start_over(why=why)
    return log.recover(), why


def restored(spaces: Spaces, folder: Path, start: LogStart, *, last: Index) -> SnapshotFile | None:
    """Take the rows of the newest snapshot that a log from `start` to `last` continues."""
    found, _ = newest_whole(folder, least=start.index, most=last)
    if found is not None:
        restore_rows(spaces, found.path)
    return found


def _note_unsaid(directory: Directory) -> None:
    """Note that this life records no events, if earlier ones of the directory did."""
    try:
        note_unsaid(directory.path)
    except OSError as error:
        raise faults.typed(error, directory.path) from error


def founding(identity: Identity) -> Configuration | None:
    """Return the configuration that a directory was founded with; None in one that is to join."""
    return Configuration(identity.founders) if identity.founders else None


def core_config(config: NodeConfig, *, instance: str = "") -> CoreConfig:
    """Return the options of a configuration that the rules of the log depend on."""
    nothing_set = CoreConfig(
        me=Replica(config.node.id),
        instance=read_instance(instance),
        voters=tuple(Replica(peer.id) for peer in config.peers),
        synchro_quorum=config.replication.synchro_quorum,
        features=features.KNOWN | config.node.rehearsed_features,
        anon=config.replication.anon,
    )
    return nothing_set.with_options(
        {each.name: option_value(config, each.name) for each in CORE_OPTIONS}
    )


def option_value(config: NodeConfig, name: str) -> object:
    """Return the value of an option by its name in the file: `section.option`."""
    section, _, option = name.partition(".")
    value: object = getattr(getattr(config, section), option)
    return value


def data_limits(config: NodeConfig) -> Limits:
    """Return the limits of one request."""
    limits = config.limits
    return Limits(
        tuple_bytes_max=limits.tuple_bytes_max,
        txn_bytes_max=limits.txn_bytes_max,
        sessions_max=limits.sessions_max,
        sessions_per_user_max=limits.sessions_per_user_max or max(limits.sessions_max // 2, 1),
        outcomes_max=limits.session_outcomes_max,
    )


def overlay_limits(config: NodeConfig) -> OverlayLimits:
    """Return how much is kept in memory until it is folded."""
    store = config.store
    return OverlayLimits(store.memtable_rows_max, store.unfolded_bytes_max)


def make_replica(config: NodeConfig, storage: NodeStorage, effects: Effects) -> NodeReplica:
    """Make the replica from what is stored. Unreadable rows are rebuilt from the log."""
    life = int.from_bytes(effects.secret(4)) >> 1
    storage.lives.begin_life(life)

    def make() -> NodeReplica:
        return NodeReplica(
            core_config(config, instance=storage.directory.identity.instance),
            ballot=storage.recovered.ballot,
            confirmed=storage.recovered.confirmed,
            stored=storage.log.stored(),
            tail=storage.log.entries,
            backing=storage.spaces,
            folded=storage.spaces.folded,
            founding=founding(storage.directory.identity),
            quarantined=storage.quarantined,
            life=life,
            start=storage.log.start,
            limits=data_limits(config),
            memory=overlay_limits(config),
        )

    try:
        return make()
    except Rebuilding as error:
        storage.spaces.rebuilt = error.message
        storage.remake_rows()
        return make()
