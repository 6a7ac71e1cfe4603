"""From a configuration to the parts of a node: storage opened, numbers translated."""

from dataclasses import dataclass, replace
from pathlib import Path

from election.fencing import Fencing
from election.messages import Index, Replica
from election.quorum import parse
from election.roles import Mode
from qsync.config import NodeConfig
from qsync.core.config import CoreConfig
from qsync.data.request import Limits
from qsync.store import faults
from qsync.store.contract import Identity, Recovered
from qsync.store.directory import Directory
from qsync.store.eventfile import note_unsaid
from qsync.store.log import LmdbLog
from qsync.store.spaces import SpaceStore


@dataclass(slots=True, kw_only=True)
class Storage:
    """An open, locked directory with its log and spaces."""

    directory: Directory
    log: LmdbLog
    spaces: SpaceStore
    recovered: Recovered
    quarantined: str | None
    probe_s: float
    gone: str | None = None
    """Why the log is not where it was any more: told before a write fails for it."""

    def look(self) -> bool:
        """Ask whether the log is where it was; true when the answer is no and news."""
        before, self.gone = self.gone, self.log.gone()
        return self.gone is not None and before is None

    def close(self) -> None:
        """Spaces first: what they have is what the log may one day drop."""
        try:
            self.spaces.close()
        finally:
            self.log.close()
            self.directory.close()


def open_storage(config: NodeConfig) -> Storage:
    """Lock, open, verify. A damaged log is set aside and the node starts as a recruit."""
    wanted = Identity(
        cluster=config.cluster.id,
        instance="",
        replica=Replica(config.node.id),
        name=config.node.name,
    )
    directory = Directory(Path(config.node.dir), wanted=wanted)
    try:
        log = LmdbLog(directory.log, identity=directory.identity, map_size=config.store.map_size)
        recovered = log.recover()
        quarantined = recovered.quarantined
        if quarantined is not None:
            log.start_over(why=quarantined)
            recovered = log.recover()
        spaces = SpaceStore(directory.data, map_size=config.store.map_size)
        if spaces.folded > recovered.last:
            spaces.wipe()
        # Rows are folded when they are decided, which the log may not have noted yet.
        confirmed = Index(max(recovered.confirmed, spaces.folded))
        recovered = replace(recovered, confirmed=confirmed)
        probe_s = directory.probe()
        if not config.node.events:
            _note_unsaid(directory)
    except BaseException:
        directory.close()
        raise
    return Storage(
        directory=directory,
        log=log,
        spaces=spaces,
        recovered=recovered,
        quarantined=quarantined,
        probe_s=probe_s,
    )


def _note_unsaid(directory: Directory) -> None:
    """Of this life nothing is written down; that is told only where there were others."""
    try:
        note_unsaid(directory.path)
    except OSError as error:
        raise faults.typed(error, directory.path) from error


def core_config(config: NodeConfig) -> CoreConfig:
    """The numbers that the rules of the log depend on."""
    replication, election = config.replication, config.election
    return CoreConfig(
        me=Replica(config.node.id),
        voters=tuple(Replica(peer.id) for peer in config.peers),
        synchro_quorum=parse(replication.synchro_quorum),
        mode=Mode(election.mode),
        fencing=Fencing(election.fencing),
        election_timeout=election.timeout,
        replication_timeout=replication.timeout,
        synchro_timeout=replication.synchro_timeout,
        synchro_policy=replication.synchro_policy,
        queue_entries_max=replication.queue_entries_max,
        queue_bytes_max=replication.queue_bytes_max,
        append_bytes_max=replication.append_bytes_max,
    )


def data_limits(config: NodeConfig) -> Limits:
    """What one request may weigh."""
    limits = config.limits
    return Limits(
        tuple_bytes_max=limits.tuple_bytes_max,
        txn_bytes_max=limits.txn_bytes_max,
        sessions_max=limits.sessions_max,
        outcomes_max=limits.session_outcomes_max,
    )
