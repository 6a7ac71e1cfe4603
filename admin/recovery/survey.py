"""What going on from one survivor would lose, as far as it can be known before (M8 a)."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from admin.cluster import log_diff, logs
from admin.cluster.logs import EntrySource
from admin.recovery.survivor import Survivor
from qsync.client.one_node import NodeConnection
from qsync.errors import Compacted, ConfigError, DirectoryLocked, QsyncError, Unavailable
from qsync.member import Member

TIMEOUT_S: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherLog:
    """Another member's log beside the survivor's.

    `only_there`, `only_here`: entries that one has and the other lacks; None where it is not known,
    and `why` says why. `runs`: it answered, so it is not stopped.
    """

    name: str
    place: str
    runs: bool = False
    last: int | None = None
    only_there: int | None = None
    only_here: int | None = None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoverySurvey:
    """The survivor and all others of its cluster. `pending`: what it did not know as confirmed."""

    name: str
    cluster: str
    last: int
    term: int
    confirmed: int
    others: tuple[OtherLog, ...]

    @property
    def pending(self) -> int:
        """Entries that become confirmed although nobody knows whether a quorum had them."""
        return self.last - self.confirmed

    @property
    def lost(self) -> int:
        """Entries that are lost for certain: the most that another member alone has."""
        return max((each.only_there or 0 for each in self.others), default=0)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Whose log could not be compared: what only they have is not counted."""
        return tuple(each.name for each in self.others if each.only_there is None)

    @property
    def running(self) -> tuple[str, ...]:
        """Who answered, and so is not stopped."""
        return tuple(each.name for each in self.others if each.runs)

    @property
    def better(self) -> OtherLog | None:
        """The member whose log reaches further than the survivor's, if any."""
        ahead = [each for each in self.others if each.only_there]
        return max(ahead, key=lambda each: each.last or 0, default=None)


def survey(survivor: Survivor, directories: Sequence[Path] = ()) -> RecoverySurvey:
    """Compare with every other member, at its address or in one of these directories.

    Nothing is changed. A directory of another cluster, or of the survivor itself, is refused with
    ConfigError.
    """
    by_id = {_id_of(survivor, each): each for each in directories}
    configuration = survivor.configuration
    members = configuration.members if configuration is not None else ()
    addresses = {int(each.id): str(each.address) for each in survivor.config.peers}
    others = [
        _compared(
            survivor,
            each if each.address else replace(each, address=addresses.get(int(each.replica), "")),
            by_id.get(int(each.replica)),
        )
        for each in members
        if each.replica != survivor.replica
    ]
    return RecoverySurvey(
        name=survivor.name,
        cluster=survivor.cluster,
        last=survivor.last,
        term=survivor.last_term,
        confirmed=survivor.confirmed,
        others=tuple(others),
    )


def _id_of(survivor: Survivor, directory: Path) -> int:
    found = logs.identity_of(directory)
    if found.cluster != survivor.cluster:
        raise ConfigError(f"{directory} is of another cluster: {found.cluster}")
    if found.replica == survivor.replica:
        raise ConfigError(f"{directory} has the replica id of {survivor.name}, {found.replica}")
    return int(found.replica)


def _compared(survivor: Survivor, member: Member, directory: Path | None) -> OtherLog:
    name = member.name or f"node {member.replica}"
    place = member.address if directory is None else str(directory)
    runs, last = False, None
    try:
        with _source(member, directory, cluster=survivor.cluster) as source:
            runs, last = directory is None, source.last()
            found = log_diff.difference(survivor.log, source)
    except Unavailable as error:
        return OtherLog(name=name, place=place, why=error.message)
    except DirectoryLocked as error:
        return OtherLog(name=name, place=place, runs=True, why=error.message)
    except (Compacted, QsyncError) as error:
        return OtherLog(name=name, place=place, runs=runs, last=last, why=error.message)
    return OtherLog(
        name=name,
        place=place,
        runs=runs,
        last=last,
        only_there=found.only_right,
        only_here=found.only_left,
    )


@contextlib.contextmanager
def _source(member: Member, directory: Path | None, *, cluster: str) -> Iterator[EntrySource]:
    if directory is not None:
        with logs.stopped(directory) as found:
            yield found
        return
    with NodeConnection(member.address, timeout=TIMEOUT_S) as line:
        if line.greeting.cluster != cluster:
            raise Unavailable(f"a node of another cluster answers at {member.address}")
        yield logs.Online(line)
