"""A node's log, read online or from the directory of a stopped node, and checked as one chain."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import cbor2

from admin.cluster import space_names
from election.messages import Index
from qsync import record
from qsync.client.one_node import NodeConnection
from qsync.core.logstart import EMPTY, LogStart
from qsync.core.logstart import decode as decode_start
from qsync.data import body
from qsync.directory_files import IDENTITY
from qsync.errors import ConfigError, ProtocolError, WrongKey
from qsync.node.info import LOG_START
from qsync.record import CHAIN_SEED, Entry, EntryKind, RecordDamage
from qsync.status import decode
from qsync.store.contract import Identity
from qsync.store.identity import read_identity
from qsync.wire import replies
from qsync.wire.verbs import InfoRequest, LogRequest, PlainRequest, Verb

if TYPE_CHECKING:
    from qsync.store.contract import PlacedLog, RecoveredLog

BATCH_ENTRIES = 4096
BATCH_BYTES = 4 * 1024 * 1024
PROBLEMS_MAX = 100
"""How many faults a verification names before it stops looking."""


class EntrySource(Protocol):
    """A source of entries, batch by batch, from an index on."""

    def batches(self, first: int, last: int | None) -> Iterator[bytes]:
        """Raw batches that cover `first..last`, or up to the end."""
        ...

    def damage(self) -> str | None:
        """The damage behind the last entry, if the log itself can find it."""
        ...

    def start(self) -> LogStart:
        """The entry before the first one of the log, if it is known."""
        ...

    def last(self) -> int:
        """The index of its last entry; 0 of an empty log."""
        ...


@dataclass(frozen=True, slots=True)
class Online:
    """The log of a running node."""

    line: NodeConnection

    def batches(self, first: int, last: int | None) -> Iterator[bytes]:
        """Request batches up to the end; trimmed entries are missing."""
        first = max(first, self.start().index + 1)
        while last is None or first <= last:
            count = BATCH_ENTRIES if last is None else min(BATCH_ENTRIES, last - first + 1)
            answer = self.line.ask(LogRequest(1, Index(first), count, BATCH_BYTES))
            _, upto, batch = answer
            if not isinstance(batch, bytes) or not isinstance(upto, int):
                raise ProtocolError("the answer to LOG is no batch")
            if not batch:
                return
            yield batch
            first = upto + 1

    def damage(self) -> str | None:
        """None: a node does not serve a damaged log."""
        return None

    def start(self) -> LogStart:
        """The start of its log by its answer; on an older release a log is never trimmed."""
        return start_of(self.line)

    def last(self) -> int:
        """The index of the last entry, by its answers."""
        return decode.status(replies.read_map(self.line.ask(PlainRequest(1, Verb.STATUS)))).last

    def space_names(self) -> dict[int, str]:
        """The present names of its spaces by id."""
        return space_names.of_node(self.line)


def start_of(line: NodeConnection) -> LogStart:
    """The entry before the first one of a running node's log."""
    try:
        found = line.ask(InfoRequest(1, LOG_START))[0]
    except WrongKey:  # of an older release
        return EMPTY
    if not isinstance(found, bytes):
        raise ProtocolError("the answer to INFO is no record of where a log begins")
    return decode_start(found)


@dataclass(frozen=True, slots=True)
class StoppedLog:
    """The log in the directory of a node that does not run; see `stopped`."""

    log: "PlacedLog"
    recovered: "RecoveredLog"
    data: Path
    """The folder of the rows."""

    def batches(self, first: int, last: int | None) -> Iterator[bytes]:
        """Read batches from its files; trimmed entries are missing."""
        end = self.log.last if last is None else Index(min(last, self.log.last))
        begin = Index(max(first, self.recovered.start.index + 1))
        for batch in self.log.batches(begin, end, bytes_max=BATCH_BYTES):
            yield batch.raw

    def damage(self) -> str | None:
        """Return the damage, by the records and the mark of flushed ones."""
        return self.recovered.quarantined

    def start(self) -> LogStart:
        """The start of the log, by its own files."""
        return self.recovered.start

    def last(self) -> int:
        """The index of the last entry, by its records."""
        return self.log.last

    def space_names(self) -> dict[int, str]:
        """The names of its spaces by id, as they were when it stopped. Raises StoreError."""
        return space_names.of_directory(self.data)


OpenedLog = Online | StoppedLog
"""The log of a node, with the names of its spaces."""


@contextlib.contextmanager
def stopped(path: Path) -> Iterator[StoppedLog]:
    """The log of a directory, under its lock: no process may use it. Raises StoreError."""
    # LMDB is slow to import and most commands do without.
    from qsync.store.directory import Directory  # noqa: PLC0415 - only here, slow to import
    from qsync.store.opening import open_stored_log  # noqa: PLC0415 - only here, slow to import

    with (
        Directory(path, wanted=identity_of(path)) as directory,
        contextlib.closing(open_stored_log(directory)) as log,
    ):
        yield StoppedLog(log, log.recover(), directory.data)


@dataclass(slots=True)
class LogVerification:
    """The result of a verification. `begins`: the first index that was not trimmed."""

    entries: int = 0
    begins: int = 1
    last: int = 0
    term: int = 0
    crc: int = CHAIN_SEED
    problems: list[str] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        """Whether there is no damage. The log of a node that has just been made has no entries."""
        return not self.problems


def entries(source: EntrySource, first: int = 1, last: int | None = None) -> Iterator[Entry]:
    """The entries `first..last`, unverified."""
    for batch in source.batches(first, last):
        yield from record.decode(batch)


def verify(source: EntrySource) -> LogVerification:
    """Follow the chain from its beginning: checksums, dense index and lsn, terms, references."""
    found = LogVerification()
    lsns: dict[int, int] = {}
    start = source.start()
    found.begins, found.last = start.index + 1, start.index
    found.term, found.crc = start.term, start.crc
    lsns.update(start.vclock)
    for batch in source.batches(found.begins, None):
        try:
            batch_entries = record.decode(batch, previous=found.crc)
        except RecordDamage as damage:
            found.problems.append(str(damage))
            break
        for entry in batch_entries:
            _look_at(entry, found, lsns)
        if len(found.problems) >= PROBLEMS_MAX:
            break
    why = source.damage()
    if why is not None:
        found.problems.append(why)
    return found


def as_members(entry: Entry) -> dict[str, object]:
    """An entry as a JSON object, its body decoded."""
    return {
        "index": entry.index,
        "term": entry.term,
        "origin": entry.origin,
        "lsn": entry.lsn,
        "kind": EntryKind(entry.kind).name,
        "flags": entry.flags,
        "time": entry.time,
        "crc": entry.crc,
        **_body(entry),
    }


def _look_at(entry: Entry, found: LogVerification, lsns: dict[int, int]) -> None:
    expected_lsn = lsns.get(entry.origin, 0) + 1
    if entry.index != found.last + 1:
        found.problems.append(f"index {entry.index} follows {found.last}")
    if entry.term < found.term:
        found.problems.append(f"entry {entry.index} has term {entry.term} after {found.term}")
    if entry.lsn != expected_lsn:
        found.problems.append(
            f"entry {entry.index} is lsn {entry.lsn} of {entry.origin}, expected {expected_lsn}"
        )
    if entry.kind != EntryKind.TXN:
        try:
            record.read_ref(entry)
        except RecordDamage as damage:
            found.problems.append(str(damage))
    lsns[entry.origin] = entry.lsn
    found.entries += 1
    found.last, found.term, found.crc = entry.index, entry.term, entry.crc


def _body(entry: Entry) -> dict[str, object]:
    if entry.kind != EntryKind.TXN:
        ref = record.read_ref(entry)
        return {"ref": {"owner": ref.owner, "lsn": ref.lsn}}
    session, number, low, effects, *_ = body.decode(entry.body)
    refusal = body.refusal(entry.body)
    return {
        "session": session.hex(),
        "seq": number,
        "low": low,
        "effects": [[space, key.hex(), _tuple(stored)] for space, key, stored in effects],
        **({} if refusal is None else {"refused": refusal.code, "message": refusal.message}),
    }


def _tuple(stored: object) -> object:
    return cbor2.loads(stored) if isinstance(stored, bytes) else stored


def identity_of(path: Path) -> Identity:
    """Return the identity of a directory. Raises ConfigError, WrongFormat."""
    try:
        return read_identity(path)[0]
    except FileNotFoundError:
        raise ConfigError(f"{path} is no node's directory: it has no {IDENTITY}") from None
    except OSError as error:
        raise ConfigError(f"{path}/{IDENTITY} cannot be read: {error.strerror}") from None
