"""A history of a cluster for the tests of backups, and what its rows were at each index.

The log is made by hand: synchronous transactions, rollbacks of what was pending, and leaders of
later terms. Beside it stands a model that knows nothing of limbos: a list of what each entry does.
"""

import functools
import io
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from admin.backup import catalogue, deriving, manifest, names
from admin.backup.catalogue import Catalogue
from admin.backup.log_archive import LogArchive
from admin.backup.manifest import BackupManifest
from admin.backup.nodes import BackupSource
from admin.backup.places import BackupPlace
from admin.backup.throttle import Throttle
from election.messages import Index, Position, Replica, Term
from qsync import record
from qsync.core.logstart import EMPTY, LogStart
from qsync.data import tuples
from qsync.data.request import Request
from qsync.data.state import DataState
from qsync.decided import DecidedLog
from qsync.errors import Unavailable
from qsync.record import CHAIN_SEED, Entry, EntryKind, Flags, LimboRef, Lsn
from qsync.store.memory import MemorySpaces
from qsync.store.snapfiles import write_frame
from qsync.store.snapshot import SnapshotHead, chunks
from qsync.store.spaces import SpaceStore
from tests.unit.book import pack

CLUSTER = "c-1"
Rows = dict[int, list[object]]
Change = tuple[int, list[object] | None]
"""A key, and its new row if it is not deleted."""


@dataclass
class MadeHistory:
    """A log, and for each entry what it does to the rows; a rolled-back one does nothing."""

    random: Random
    log: list[Entry] = field(default_factory=list)
    does: dict[int, list[Change]] = field(default_factory=dict)
    stretches: list[tuple[int, int]] = field(default_factory=list)
    """First victim, and the ROLLBACK."""
    clock: Callable[[int], float] = lambda written: 1000.0 + written // 2
    """The time of an entry, by the number of those before it."""

    def __post_init__(self) -> None:
        self.store = MemorySpaces()
        self.state = DataState(self.store, folded=Index(0))
        self.term, self.leader, self.settled = 0, 1, 0
        self.lsns: dict[int, int] = {}
        self.session = b""
        self.lead()
        format_ = [["id", "unsigned"], ["n", "integer"]]
        primary = [["id", "unsigned"]]
        self.write([[10, "t", {"format": format_, "primary": primary, "is_sync": True}]], [])
        self.write([[30, b"s"]], [])
        self.confirm()

    @property
    def last(self) -> int:
        return len(self.log)

    def live(self, steps: int) -> None:
        """So many things happen; in the end all is decided."""
        for _ in range(steps):
            dice = self.random.random()
            if dice < 0.1:
                self.roll_back()
            elif dice < 0.2:
                self.confirm()
            elif dice < 0.23:
                self.lead()
            else:
                self.write(*self._transaction())
        self.confirm()

    def write(self, ops: list[list[object]], changes: list[Change]) -> None:
        at = Position(Term(self.term), Index(self.last + 1))
        done = self.state.execute(Request(b"", 0, 0, ops), at=at)
        self._append(EntryKind.TXN, done.body, Flags.WAIT_ACK)
        self.state.applied(self.last, Term(self.term), done)
        self.does[self.last] = changes

    def confirm(self) -> None:
        """All that is there is decided."""
        ref = LimboRef(Replica(self.leader), Lsn(self.lsns[self.leader]))
        self._append(EntryKind.CONFIRM, record.ref_body(ref))
        self.settled = self.last

    def roll_back(self) -> None:
        """Some of the newest entries, if they are pending transactions."""
        pending = [entry for entry in self.log[self.settled :] if entry.kind == EntryKind.TXN]
        if not pending:
            return
        first = self.random.choice(pending)
        ref = LimboRef(first.origin, first.lsn)
        self.stretches.append((first.index, self.last + 1))
        self.state.roll_back(first.index, Index(self.last))
        for entry in pending:
            if entry.index >= first.index:
                self.does[entry.index] = []
        self._append(EntryKind.ROLLBACK, record.ref_body(ref))
        self.settled = self.last

    def lead(self) -> None:
        """Another term; what was pending is confirmed with its PROMOTE."""
        self.term += 1
        former, self.leader = self.leader, self.random.randint(1, 3)
        ref = LimboRef(Replica(former), Lsn(self.lsns.get(former, 0)))
        self._append(EntryKind.PROMOTE, record.ref_body(ref), Flags.WAIT_ACK)
        self.settled = self.last

    def rows(self, index: int) -> Rows:
        """By the model: every entry up to there, one after another."""
        found: Rows = {}
        for at in range(1, self.clip(index) + 1):
            for key, row in self.does.get(at, []):
                found.pop(key, None)
                if row is not None:
                    found[key] = row
        return found

    def clip(self, index: int) -> int:
        """The last index up to which something can be restored."""
        inside = [first for first, back in self.stretches if first <= index < back]
        return min([index, *(first - 1 for first in inside)])

    def at_time(self, time: float) -> int:
        """The index before the first entry that is younger."""
        return next((e.index - 1 for e in self.log if e.time > time), self.last)

    def _transaction(self) -> tuple[list[list[object]], list[Change]]:
        ops: list[list[object]] = []
        changes: list[Change] = []
        for _ in range(self.random.choice((1, 1, 1, 3))):
            key, value = self.random.randint(0, 12), self.random.randint(0, 10**6)
            if self.random.random() < 0.3:
                ops.append([5, "t", 0, [key]])
                changes.append((key, None))
            else:
                ops.append([2, "t", pack(key, value)])
                changes.append((key, [key, value]))
        return ops, changes

    def _append(self, kind: EntryKind, body: bytes, flags: int = 0) -> None:
        lsn = self.lsns.get(self.leader, 0) + 1
        self.lsns[self.leader] = lsn
        self.log.append(
            record.make(
                index=self.last + 1,
                term=self.term,
                origin=self.leader,
                lsn=lsn,
                kind=kind,
                flags=flags,
                time=self.clock(self.last),
                body=body,
                previous=self.log[-1].crc if self.log else CHAIN_SEED,
            )
        )


class MadeSource(BackupSource):
    """Gives the log of a history, as a node would."""

    def __init__(self, history: MadeHistory, *, most: int = 7, dies_at: int = 0) -> None:
        """Of at most so many entries at a time. It answers no more when that one is asked for."""
        self.history, self.most, self.dies_at = history, most, dies_at

    def read_log(self, first: int, last: int, *, before: int | None) -> list[Entry]:
        if 0 < self.dies_at <= first:
            raise Unavailable("it hung up")
        found = self.history.log[first - 1 : min(last, first - 1 + self.most)]
        assert before is None or record.decode(record.encode(found), previous=before)
        return found


def derived_once() -> Iterator[None]:
    """The body of a fixture: a key that was derived from a secret is not derived again.

    That takes a quarter of a second, on purpose, and tests open the same place again and again.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deriving, "derived", functools.cache(deriving.derived))
        yield


def begin(place: BackupPlace) -> Catalogue:
    return catalogue.load_or_begin(place, CLUSTER)


def keep_log(
    found: Catalogue,
    history: MadeHistory,
    after: int,
    upto: int,
    *,
    dies_at: int = 0,
    part_bytes: int = 900,
) -> LogArchive:
    """The log behind an index, in small parts."""
    crc = history.log[after - 1].crc if after else CHAIN_SEED
    log = LogArchive(found, last=after, crc=crc, wall=lambda: 5.0, part_bytes=part_bytes)
    log.copy_from(MadeSource(history, dies_at=dies_at), upto, Throttle(None), lambda *_: None)
    return log


def folded(history: MadeHistory, index: int) -> tuple[MemorySpaces, LogStart]:
    """The rows at an index, by the code under test."""
    spaces = MemorySpaces()
    log = DecidedLog(EMPTY, lambda: [history.log], upto=history.last, index=index)
    log.fold_into(spaces, lambda _: None)
    return spaces, log.start_behind()


def keep_rows(
    found: Catalogue, history: MadeHistory, index: int, *, part_bytes: int = 256
) -> BackupManifest:
    """A backup at an index, whose log is kept already."""
    pieces = b""
    start, rows = EMPTY, 0
    if index:
        spaces, start = folded(history, index)
        view = spaces.view()
        head = SnapshotHead(start=start, sums=view.sums)
        rows = head.rows
        file = io.BytesIO()
        for frame in (head.encode(), *(each.encode() for each in chunks(view))):
            write_frame(file, frame)
        pieces = file.getvalue()
    parts = []
    for number, at in enumerate(range(0, len(pieces), part_bytes), 1):
        name = names.rows_part(index, number)
        content = pieces[at : at + part_bytes]
        found.place.write(name, content)
        parts.append(manifest.part_of(name, content))
    chain = found.chain(index, int(start.crc) if index else CHAIN_SEED)
    made = BackupManifest(
        cluster=found.cluster,
        index=index,
        term=start.term,
        crc=start.crc,
        start=start.encode().hex() if index else "",
        index_time=history.log[index - 1].time if index else 0.0,
        last=chain[-1].last if chain else index,
        last_term=chain[-1].term if chain else start.term,
        node="n1",
        instance="i",
        begun=1.0,
        ended=2.0,
        time=chain[-1].latest if chain else 1.0,
        rows=rows,
        parts=tuple(parts),
        log=tuple(each.part.name for each in chain),
        release="0",
        youngest=found.youngest(index),
    )
    found.place.write(names.backup(index), manifest.encode(made))
    found.backups.append(made)
    return made


def shown(spaces: MemorySpaces) -> Rows:
    """The rows that are stored."""
    state = DataState(spaces, folded=spaces.folded)
    if "t" not in state.spaces():
        return {}
    found: Iterator[list[object]] = map(tuples.stored, state.select("t", 0, "all"))
    return {int(str(row[0])): list(row) for row in found}


def shown_rows(directory: Path) -> list[list[object]]:
    """The rows of `t` in the directory of a node that does not run."""
    with closing(SpaceStore(directory / "data", repair=False)) as spaces:
        state = DataState(spaces, folded=spaces.folded)
        return [tuples.stored(each) for each in state.select("t", 0, "all")]
