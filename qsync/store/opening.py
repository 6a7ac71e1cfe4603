"""Opens the log of a directory, in whichever form it is; and brings an old form to the present."""

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from election.messages import Replica
from qsync.errors import ConfigError, StoreError
from qsync.member import Member
from qsync.record import read_instance
from qsync.store import faults
from qsync.store.contract import Identity, PlacedLog
from qsync.store.directory import Directory, is_formatted
from qsync.store.environment import FILE, MAP_SIZE, sync_directory
from qsync.store.identity import FORMAT_TRIMMED, FORMAT_WITH_LMDB
from qsync.store.log import LmdbLog, is_missing
from qsync.store.segments.copying import copy_log
from qsync.store.segments.files import has_segments
from qsync.store.segments.log import SegmentLog
from qsync.store.segments.making import log_is_missing

_LMDB_FILES = (FILE, "lock.mdb")


def open_log(directory: Directory, *, map_size: int = MAP_SIZE) -> PlacedLog:
    """The log of a directory, as it is. `map_size`: of one that is still in LMDB."""
    if directory.format == FORMAT_WITH_LMDB:
        return LmdbLog(directory.log, identity=directory.identity, map_size=map_size)
    log = SegmentLog(directory.log, identity=directory.identity)
    log.before_beginning = partial(directory.raise_format, FORMAT_TRIMMED)
    return log


def open_stored_log(directory: Directory) -> PlacedLog:
    """The log of a stopped node, for those who only read. Raises StoreError where none is.

    None is made: its node would take the empty one for its own, without the votes and acks that
    were lost with the other (membership.md M5).
    """
    if is_log_missing(directory):
        raise StoreError(
            f"{directory.log} holds no log",
            hint="put it back; a node that starts without it is a stranger to its cluster",
        )
    return open_log(directory)


def is_log_missing(directory: Directory) -> bool:
    """Return whether there is no log, nor one that waits to follow one that was set aside."""
    if directory.format == FORMAT_WITH_LMDB:
        return is_missing(directory.log)
    return log_is_missing(directory.log)


def is_log(path: Path) -> bool:
    """Return whether there is a log, in any form."""
    return (path / FILE).is_file() or has_segments(path)


def upgrade(directory: Directory, log: PlacedLog) -> PlacedLog:
    """Bring a recovered log to the present form, and close it; the one to go on with, opened.

    Segments are made beside LMDB's files, in the same folder, where nothing reads them. What is
    made is flushed before the directory's format is raised, which is one rename: before it the old
    log counts, and after it the new one. LMDB's files are removed last. So a process killed in
    between begins again, or goes on. The old log must be whole: it is not looked at again.
    """
    if directory.format == FORMAT_WITH_LMDB:
        try:
            copy_log(log, directory.log)
        except OSError as error:
            raise faults.typed(error, directory.log) from error
        finally:
            log.close()
        directory.raise_format()
        log = open_log(directory)
    _remove_lmdb(directory.log)
    return log


def _remove_lmdb(log: Path) -> None:
    try:
        found = list(_lmdb_files(log))
        for each in found:
            each.unlink()
        if found:
            sync_directory(log)
    except OSError as error:
        raise faults.typed(error, log) from error


def _lmdb_files(log: Path) -> Iterator[Path]:
    return (log / name for name in _LMDB_FILES if (log / name).exists())


@dataclass(frozen=True, slots=True, kw_only=True)
class Founder:
    """A voter of the cluster that is to be: its place, and where its directory is made.

    `address`: where the others dial it, `host:port`.
    """

    replica: Replica
    name: str
    path: Path
    address: str = ""


def found(cluster: str, founders: Iterable[Founder]) -> list[Identity]:
    """Make the directories of a new cluster, in the order of `founders`.

    Every directory holds the first configuration: each voter with its instance, name and address
    (membership.md M1 c). That is the same as if all had received it as the base of one log. A
    directory that is made in any other way belongs to a stranger, which founds nothing.

    Raises ConfigError when one of the directories is in use, and then none is made; StoreError.
    """
    members = list(founders)
    for each in members:
        if is_formatted(each.path):
            raise ConfigError(
                f"{each.path} belongs to a node already",
                hint="found a cluster in directories that are empty",
            )
    instances = {each.replica: str(uuid.uuid4()) for each in members}
    voters = tuple(
        Member(
            each.replica,
            read_instance(instances[each.replica]),
            name=each.name,
            address=each.address,
        )
        for each in sorted(members, key=lambda each: each.replica)
    )
    made: list[Identity] = []
    for each in members:
        identity = Identity(
            cluster=cluster,
            instance=instances[each.replica],
            replica=each.replica,
            name=each.name,
            founders=voters,
        )
        with Directory(each.path, wanted=identity) as directory:
            # A directory with an identity and without a log has lost the log.
            open_log(directory).close()
            made.append(directory.identity)
    return made
