"""The possible loss of a recovery from one survivor, as far as known before (M8 a)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from admin.cluster import log_diff, logs
from admin.cluster.logs import EntrySource
from admin.recovery.survivor import Survivor
from qsync.client import security
from qsync.client.one_node import NodeConnection
from qsync.client.security import ClientTls
from qsync.config import NodeConfig
from qsync.errors import Compacted, ConfigError, DirectoryLocked, QsyncError, Unavailable
from qsync.member import Member

TIMEOUT_S: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherLog:
    """Another member's log beside the survivor's.

    `only_there`, `only_here`: entries that one has and the other lacks; None where it is not known,
    and `why` says why. `at_least`: so many of them it has in any case, by where it begins and ends.
    `runs`: it answered, so it is not stopped.
    """

    name: str
    place: str
    runs: bool = False
    last: int | None = None
    last_term: int = 0
    only_there: int | None = None
    only_here: int | None = None
    at_least: int = 0
    why: str = ""

    @property
    def lacking(self) -> int:
        """Entries of it that the survivor lacks for certain."""
        return self.at_least if self.only_there is None else self.only_there


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoverySurvey:
    """The survivor and all others of its cluster. `pending`: what it did not know as confirmed.

    `doubt`: why it may lack what it has acked itself; empty where nothing is known of that.
    """

    name: str
    cluster: str
    last: int
    term: int
    confirmed: int
    others: tuple[OtherLog, ...]
    doubt: str = ""

    @property
    def pending(self) -> int:
        """Entries that become confirmed although it is unknown whether a quorum had them."""
        return self.last - self.confirmed

    @property
    def lost(self) -> int:
        """Entries that are lost for certain: the most that another member alone has."""
        return 0 if self.furthest is None else self.furthest.lacking

    @property
    def furthest(self) -> OtherLog | None:
        """The member with most of the entries that the survivor lacks, if any."""
        ahead = [each for each in self.others if each.lacking]
        return max(ahead, key=lambda each: each.lacking, default=None)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Whose log could not be compared: what only they have is not counted."""
        return tuple(each.name for each in self.others if each.only_there is None)

    @property
    def running(self) -> tuple[str, ...]:
        """The members that answered, so they are not stopped."""
        return tuple(each.name for each in self.others if each.runs)

    @property
    def better(self) -> OtherLog | None:
        """The member to go on from instead, if there is one: with the best last entry (M8 a).

        Its term comes first, as in an election: a long tail of an older term is of a leader that
        was cut off, and what a quorum has since then is not in it.
        """
        own = self.term, self.last
        ahead = [each for each in self.others if (each.last_term, each.last or 0) > own]
        return max(ahead, key=lambda each: (each.last_term, each.last or 0), default=None)


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
        doubt=survivor.doubt,
    )


def _id_of(survivor: Survivor, directory: Path) -> int:
    found = logs.identity_of(directory)
    if found.cluster != survivor.cluster:
        raise ConfigError(f"{directory} is of another cluster: {found.cluster}")
    if found.replica == survivor.replica:
        raise ConfigError(f"{directory} has the replica id of {survivor.name}, {found.replica}")
    return int(found.replica)


def _compared(survivor: Survivor, member: Member, directory: Path | None) -> OtherLog:
    found = OtherLog(
        name=member.name or f"node {member.replica}",
        place=member.address if directory is None else str(directory),
    )
    try:
        if directory is not None:
            with logs.stopped(directory) as stopped:
                return _beside(survivor, stopped, found)
        tls = security.of_environment() or _own_tls(survivor.config)
        _check_greeting(member.address, tls, cluster=survivor.cluster)
        found = replace(found, runs=True)
        with NodeConnection(member.address, timeout=TIMEOUT_S, tls=tls) as line:
            return _beside(survivor, logs.Online(line), found)
    except DirectoryLocked as error:
        return replace(found, runs=True, why=error.message)
    except QsyncError as error:
        return replace(found, why=error.message)


def _check_greeting(address: str, tls: ClientTls | None, *, cluster: str) -> None:
    """The greeting of the node there, which needs no login. Raises Unavailable."""
    with NodeConnection(address, timeout=TIMEOUT_S, tls=tls, greeted=True) as line:
        if line.greeting.cluster != cluster:
            raise Unavailable(f"a node of another cluster answers at {address}")


def _own_tls(config: NodeConfig) -> ClientTls | None:
    """As the survivor itself would speak to them: enough to be greeted."""
    tls = config.tls
    if not tls.on:
        return None
    return ClientTls(ca=str(tls.ca), certificate=str(tls.certificate), key=str(tls.key))


def _beside(survivor: Survivor, source: EntrySource, other: OtherLog) -> OtherLog:
    """The entries that one has and the other lacks; if unknown, how far the other one is."""
    last = source.last()
    ended = replace(other, last=last, last_term=_term_at(source, last))
    try:
        found = log_diff.difference(survivor.log, source)
    except Compacted as error:
        return replace(ended, at_least=_lacking(survivor, source, last), why=error.message)
    return replace(ended, only_there=found.only_right, only_here=found.only_left)


def _lacking(survivor: Survivor, source: EntrySource, last: int) -> int:
    """Entries up to `last` of a log that cannot be compared which the survivor lacks for certain.

    Where one log begins within the other they differ there, and so in all that follows.
    """
    begins = int(max(survivor.log.start().index, source.start().index))
    common = begins - 1 if begins <= min(survivor.last, last) else survivor.last
    return max(0, last - common)


def _term_at(source: EntrySource, index: int) -> int:
    start = source.start()
    if index <= start.index:
        return start.term
    return max((each.term for each in logs.entries(source, index, index)), default=0)
