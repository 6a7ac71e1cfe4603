"""The directory of a node that is left of a cluster, read while no process runs on it."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from admin.cluster import logs
from admin.cluster.logs import StoppedLog
from election.messages import Index, Replica, Term
from qsync import record
from qsync.config import NodeConfig
from qsync.core.configuration import Configuration
from qsync.core.replicated_log import ReplicatedLog
from qsync.decided import stopped_log
from qsync.directory_files import CONFIG_FILE
from qsync.errors import ConfigError, Damaged
from qsync.node.assembly import NodeStorage, WhoseFiles, founding, open_storage
from qsync.record import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Survivor:
    """Its entries. All of them are confirmed by the recovery (membership.md M8 a)."""

    config: NodeConfig
    storage: NodeStorage
    replicated_log: ReplicatedLog

    @property
    def name(self) -> str:
        """Its name."""
        return self.config.node.name

    @property
    def replica(self) -> Replica:
        """Its id."""
        return self.storage.directory.identity.replica

    @property
    def cluster(self) -> str:
        """The id of its cluster."""
        return self.storage.directory.identity.cluster

    @property
    def path(self) -> Path:
        """Its data directory."""
        return self.storage.directory.path

    @property
    def log(self) -> StoppedLog:
        """Its log, to be compared with others."""
        return StoppedLog(self.storage.log, self.storage.recovered, self.path / "data")

    @property
    def last(self) -> Index:
        """Its last entry."""
        return self.replicated_log.log.last

    @property
    def last_term(self) -> Term:
        """The term of that."""
        return self.replicated_log.log.position.term

    @property
    def term(self) -> Term:
        """The highest that it has seen, in which it may have voted."""
        return Term(max(self.storage.recovered.ballot.term, self.last_term))

    @property
    def confirmed(self) -> Index:
        """Its known confirmed index."""
        return self.replicated_log.confirmed

    @property
    def doubt(self) -> str:
        """Why it may lack what it once had; empty where nothing is known of that."""
        lives = self.storage.lives
        if lives.is_old(self.storage.directory.identity.instance):
            return f"it is an old copy of its directory: {lives.why}"
        if not self.storage.recovered.ballot.member:
            return "its log was damaged, and it had not caught up since"
        return ""

    @property
    def configuration(self) -> Configuration | None:
        """The members by its log; None for a directory that was only laid out."""
        return self.replicated_log.configurations.in_force

    def batches(self, after: int) -> Iterator[list[Entry]]:
        """The log behind an entry, with every checksum looked at."""
        for batch in self.log.batches(after + 1, None):
            yield [each for each in record.decode(batch) if each.index > after]


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Survivor]:
    """Take the directory of a stopped node, as `qsync start` would, and start nothing.

    Raises ConfigError, Superseded, DirectoryLocked, Damaged, StoreError.
    """
    file = path / CONFIG_FILE
    if not file.exists():
        raise ConfigError(f"there is no {file}", hint="name the directory that `qsync start` takes")
    config = NodeConfig.load(file.absolute(), {})  # its paths go into a file elsewhere
    with logs.stopped(Path(config.node.dir)) as log:
        if log.recovered.quarantined is not None:
            raise Damaged(
                f"the log of {path} is damaged: {log.recovered.quarantined}",
                hint="go on from another node, or from a backup: qsync backup restore",
            )
    with contextlib.closing(open_storage(config, files=WhoseFiles.READ)) as storage:
        found = storage.recovered
        replicated_log = stopped_log(storage.log, found, founding(found.identity))
        yield Survivor(config=config, storage=storage, replicated_log=replicated_log)
