"""The log in LMDB, as releases before segments have it: it is read, and upgraded at a start."""

import shutil
import struct
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from election.messages import Ballot, Index
from qsync import record
from qsync.core.logstart import EMPTY, LogStart
from qsync.core.ready import Write
from qsync.errors import Damaged, DirectoryGone, StoreError
from qsync.record import CHAIN_SEED, Crc
from qsync.store import archive, chain, faults, meta, recovery
from qsync.store.contract import (
    NO_BALLOT,
    NOTHING_TRUSTED,
    Identity,
    Opened,
    RecoveredLog,
    Tail,
)
from qsync.store.environment import (
    FILE,
    MAP_SIZE,
    MAP_SIZE_MAX,
    Databases,
    Environment,
    rows,
    set_aside,
    set_aside_before,
)

if TYPE_CHECKING:
    from lmdb import Transaction

_KEY = struct.Struct(">Q")
_NUMBERS_KEY = b"numbers"
_BATCHES, _META, _ARCHIVE = "batches", "meta", "archive"


def _beside(log: Path) -> Path:
    """Return the path at which a log is made before it takes its place."""
    return log.with_name(f"{log.name}.new")


def is_missing(log: Path) -> bool:
    """Return whether there is no log, nor one that waits to follow one that was set aside.

    The latter has the ballot of the former: a crash came between two steps of starting over.
    """
    waits = _beside(log).exists() and any(set_aside_before(log))
    return not log.exists() and not waits


def _wall_clock() -> float:
    """The time of a cut, for people only."""
    return datetime.now(UTC).timestamp()


def _prepare(ready: Path, environment: Callable[[Path], Environment], ballot: Ballot) -> None:
    """Make an empty log beside the other one: so there is no moment without a ballot."""
    try:
        if ready.exists():
            shutil.rmtree(ready)
    except OSError as error:
        raise faults.typed(error, ready) from error
    env = environment(ready)
    try:
        numbers = meta.pack(ballot, confirmed=0, durable=0, crc=CHAIN_SEED)
        env.update(lambda txn: txn.put(_NUMBERS_KEY, numbers, db=env.db(_META)))
    finally:
        env.close()


class UntrimmedLog(chain.EntryReads):
    """A log that begins with the first entry for ever: a start brings it to segments first."""

    @property
    def start(self) -> LogStart:
        """With the first entry."""
        return EMPTY

    def trim(self, start: LogStart) -> None:
        """Refuse. Raises StoreError."""
        raise StoreError(f"a log in LMDB is not trimmed behind {start.index}")

    def begin_at(self, start: LogStart) -> None:
        """Refuse. Raises StoreError."""
        raise StoreError(f"a log in LMDB does not begin behind {start.index}")


class LmdbLog(UntrimmedLog):
    """See `contract.Log`. `last` and `quarantined` hold once `recover` has run."""

    before_commit: Callable[[], None] | None = None
    """Put here by an armed fault point; it may raise OSError."""

    def __init__(
        self,
        path: Path,
        *,
        identity: Identity,
        wall: Callable[[], float] = _wall_clock,
        map_size: int = MAP_SIZE,
        map_size_max: int = MAP_SIZE_MAX,
    ) -> None:
        """Open DIR/log. The directory must be locked (see `Directory`)."""
        self.identity = identity
        self.last = Index(0)
        self.quarantined: str | None = None
        self._crc = CHAIN_SEED
        self._ballot = NO_BALLOT
        self._numbers: set[bytes | None] = set()
        """What the file may say of itself: a commit that failed may have landed all the same."""
        self._path = path
        self._wall = wall
        self._map = (map_size, map_size_max)
        self._unreadable: str | None = None
        self._opened_env: Environment | None = None
        try:
            self._opened_env = self._open()
        except Damaged as error:  # `recover` says so, and `start_over` sets it aside
            self._unreadable = error.message

    def recover(
        self,
        *,
        trusted: Index = NOTHING_TRUSTED,  # noqa: ARG002 - this form verifies everything
    ) -> RecoveredLog:
        """Verify every entry; see `contract.Recovered` for what becomes of damage."""
        stored: bytes | None = None
        checked = chain.ChainVerification()
        if self._unreadable is None:
            try:
                stored = self._env.read(lambda txn: txn.get(_NUMBERS_KEY, db=self._env.db(_META)))
                checked = chain.verify(self._stored())
            except Damaged as error:  # LMDB cannot make sense of its own pages
                self._unreadable = error.message
        judged = recovery.judge(stored, checked)
        self._numbers |= {stored}
        if self._unreadable is not None:
            judged = replace(
                judged, quarantined=self._unreadable, untrusted=judged.untrusted or stored is None
            )
        dropped = self._drop(checked) if judged.torn and judged.quarantined is None else 0
        self.quarantined = judged.quarantined
        self.last, self._crc, self._ballot = checked.last, checked.crc, judged.numbers.ballot
        return judged.recovered(checked, identity=self.identity, dropped=dropped)

    def write(self, write: Write) -> None:
        """Write one durable commit: cut, append, ballot and confirmed. Raises StoreError."""
        if self.quarantined is not None:
            raise Damaged(f"the log takes no writes: {self.quarantined}")
        base, crc = self.last, self._crc
        cuts = write.cut_above is not None and write.cut_above < base
        if cuts:
            assert write.cut_above is not None
            base = write.cut_above
            crc = self._crc_at(base)
        last, entries = base, write.entries
        if entries:
            assert entries[0].index == base + 1, (entries[0].index, base)
            last, crc = entries[-1].index, entries[-1].crc
            assert last == base + len(entries), (last, base, len(entries))
        key, batch = _KEY.pack(base + 1), record.encode(entries)
        numbers = meta.pack(write.ballot, confirmed=write.confirmed, durable=last, crc=crc)

        def commit(txn: "Transaction[bytes]") -> None:
            self._numbers.add(numbers)
            if cuts:
                self._cut(txn, base, write)
            if batch:
                txn.put(key, batch, db=self._env.db(_BATCHES))
            txn.put(_NUMBERS_KEY, numbers, db=self._env.db(_META))
            if self.before_commit is not None:
                self.before_commit()

        self._env.update(commit)
        self._numbers.clear()
        self._numbers.add(numbers)
        self.last, self._crc, self._ballot = last, crc, write.ballot

    def read(self, first: Index, *, bytes_max: int) -> bytes:
        """Return whole records from the one that holds `first` on, in one short look."""
        if first > self.last:
            return b""
        return self._env.read(lambda txn: self._records(txn, first, bytes_max))

    def _records(self, txn: "Transaction[bytes]", first: Index, bytes_max: int) -> bytes:
        with txn.cursor(db=self._env.db(_BATCHES)) as cursor:
            cursor.set_range(self._record_of(txn, first))
            return chain.joined(cursor.iternext(keys=False, values=True), bytes_max=bytes_max)

    def archived(self) -> list[Tail]:
        """The cut tails, oldest first."""
        if self._opened_env is None:
            return []
        return [
            archive.unpack(archive.KEY.unpack(key)[0], stored)
            for key, stored in rows(self._env, _ARCHIVE)
        ]

    def start_over(self, *, why: str, untrusted: bool = False) -> None:
        """Set the log aside and begin an empty one; see `contract.Log.start_over`."""
        ballot = recovery.begin_anew(self._ballot, untrusted=untrusted).ballot
        _prepare(_beside(self._path), self._environment, ballot)
        self.close()
        try:
            set_aside(self._path, why=why)
        finally:
            self._opened_env = self._open()
        self.last, self._crc, self._ballot = Index(0), CHAIN_SEED, ballot
        self._numbers.clear()
        self.quarantined = self._unreadable = None

    def bytes_used(self) -> int:
        """The bytes that the log takes of the disk."""
        if self._opened_env is None:
            return (self._path / FILE).stat().st_size
        return self._opened_env.bytes_used()

    def close(self) -> None:
        """Release everything."""
        if self._opened_env is not None:
            self._opened_env.close()

    @property
    def _env(self) -> Environment:
        if self._opened_env is None:
            raise Damaged(f"{self._path} cannot be read: {self._unreadable}")
        return self._opened_env

    def _open(self) -> Environment:
        """Open the log. It is there whole or not at all: it is made beside its place."""
        ready = _beside(self._path)
        try:
            if not self._path.exists():
                if is_missing(self._path):
                    _prepare(ready, self._environment, NO_BALLOT)
                ready.rename(self._path)
        except OSError as error:
            raise faults.typed(error, self._path) from error
        return self._environment(self._path)

    def _environment(self, path: Path) -> Environment:
        size, limit = self._map
        return Environment(
            path,
            databases=(_BATCHES, _META, _ARCHIVE),
            durable=True,
            map_size=size,
            map_size_max=limit,
            verify=partial(_verify, self._path, self._numbers),
        )

    @property
    def opened(self) -> Opened:
        """The file that it is in."""
        return self._env.opened

    def gone(self) -> str | None:
        """Why what is written now would not be found by a restart; None when all is well."""
        return self._env.gone()

    def _rows(self, first: Index) -> Generator[chain.Row, None, None]:
        if first <= self.last:
            yield from self._stored(first)

    def _stored(self, first: int = 1) -> Iterator[chain.Row]:
        """The records from the one that holds `first` on."""
        start = self._env.read(lambda txn: self._record_of(txn, first))
        for key, batch in rows(self._env, _BATCHES, start=start):
            yield _KEY.unpack(key)[0], batch

    def _record_of(self, txn: "Transaction[bytes]", index: int) -> bytes:
        """The key of the last record that begins at or before `index`."""
        key = _KEY.pack(index)
        with txn.cursor(db=self._env.db(_BATCHES)) as cursor:
            if not cursor.set_range(key):
                return cursor.key() if cursor.last() else b""
            if cursor.key() == key:
                return key
            return cursor.key() if cursor.prev() else b""

    def _crc_at(self, index: int) -> Crc:
        """The checksum of entry `index`."""
        return chain.crc_at(next(self._stored(index))[1], index) if index else CHAIN_SEED

    def _cut(self, txn: "Transaction[bytes]", above: int, write: Write) -> None:
        """Move everything above `above` to the archive, in the transaction of the write."""
        batches, tails = self._env.db(_BATCHES), self._env.db(_ARCHIVE)
        parts: list[bytes] = []
        with txn.cursor(db=batches) as cursor:
            cursor.set_range(self._record_of(txn, above + 1))
            records = list(cursor)
        for key, batch in records:
            kept, cut = chain.split(batch, after=above)
            txn.delete(key, db=batches)
            if kept:
                txn.put(key, kept, db=batches)
            parts.append(cut)
        with txn.cursor(db=tails) as cursor:
            number = 1 + (archive.KEY.unpack(cursor.key())[0] if cursor.last() else 0)
        tail = Tail(
            number=number,
            first=Index(above + 1),
            last=self.last,
            term=write.ballot.term,
            time=self._wall(),
            reason=write.cut_reason,
            raw=b"".join(parts),
            answered=write.cut_answered,
        )
        txn.put(archive.KEY.pack(number), archive.pack(tail), db=tails)

    def _drop(self, checked: chain.ChainVerification) -> int:
        """Drop what follows the last whole entry; the number of bytes."""

        def commit(txn: "Transaction[bytes]") -> int:
            batches = self._env.db(_BATCHES)
            with txn.cursor(db=batches) as cursor:
                cursor.set_range(_KEY.pack(checked.at))
                records = list(cursor)
            dropped = -checked.offset
            for key, batch in records:
                txn.delete(key, db=batches)
                dropped += len(batch)
            if checked.offset:
                txn.put(_KEY.pack(checked.at), records[0][1][: checked.offset], db=batches)
            return dropped

        return self._env.update(commit)


def _verify(
    path: Path, known: set[bytes | None], txn: "Transaction[bytes]", dbs: Databases
) -> None:
    """After a fault: ballot, confirmed index, last entry and its checksum are as they were."""
    if known and txn.get(_NUMBERS_KEY, db=dbs[_META]) not in known:
        raise DirectoryGone(
            f"{path} does not hold the log that was open before", details={"path": str(path)}
        )
