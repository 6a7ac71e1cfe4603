"""Damage differs from a torn tail, a wrong directory is refused, a full disk harms nothing."""

import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import lmdb
import pytest

from election.messages import Index
from qsync import record
from qsync.errors import Damaged, DiskFull, StoreError
from qsync.store.contract import NO_BALLOT
from qsync.store.memory import MemoryLog
from tests.unit.logs import MEMBER, child, lmdb_log, recovered, some, write

if TYPE_CHECKING:
    from lmdb import Transaction, _Database

U64 = struct.Struct(">Q")


@contextmanager
def raw(path: Path, name: str) -> "Iterator[tuple[Transaction[bytes], _Database]]":
    """The database as LMDB has it, to do harm."""
    env = lmdb.open(str(path / "log"), max_dbs=8)
    db = env.open_db(name.encode())
    with env.begin(write=True) as txn:
        yield txn, db
    env.close()


def flip(path: Path, *, record_at: int, byte: int) -> None:
    with raw(path, "batches") as (txn, db):
        batch = bytearray(txn.get(U64.pack(record_at), db=db) or b"")
        batch[byte] ^= 0x10
        txn.put(U64.pack(record_at), bytes(batch), db=db)


def put(path: Path, first: int, batch: bytes) -> None:
    with raw(path, "batches") as (txn, db):
        txn.put(U64.pack(first), batch, db=db)


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """A log of three records: 1..4, 5..6, 7..9, closed."""
    made = some(9)
    log = lmdb_log(tmp_path)
    log.recover()
    for part in (made[:4], made[4:6], made[6:]):
        log.write(write(part, confirmed=3))
    log.close()
    return tmp_path


# ------------------------------------------------------------------------- above the durable mark


@pytest.mark.parametrize("length", [1, 30, 60, 110])
def test_a_torn_record_above_the_mark_is_dropped_and_the_log_goes_on(
    three: Path, length: int
) -> None:
    made = some(12)
    torn = record.encode(made[9:])[:length]
    put(three, 10, torn)
    with recovered(three) as (log, found):
        whole = length // len(made[9].raw)
        assert (found.quarantined, found.last) == (None, 9 + whole)
        assert found.dropped_tail == length - whole * len(made[9].raw)
        log.write(write(made[9 + whole :]))
    with recovered(three) as (log, found):
        assert (found.last, found.dropped_tail) == (12, 0)
        assert log.entries(Index(1), Index(12)) == made


def test_a_flipped_bit_above_the_mark_is_dropped_with_all_that_follows(three: Path) -> None:
    made = some(14)
    batch = bytearray(record.encode(made[9:12]))
    batch[-1] ^= 1
    put(three, 10, bytes(batch))
    put(three, 13, record.encode(made[12:]))
    with recovered(three) as (log, found):
        assert (found.quarantined, found.last) == (None, 11)
        assert found.dropped_tail == len(made[11].raw) + len(record.encode(made[12:]))
        assert log.entries(Index(1), Index(11)) == made[:11]


@pytest.mark.parametrize("torn", [1, 40, 100])
def test_a_torn_write_in_memory_loses_only_what_was_never_acked(torn: int) -> None:
    made = some(6)
    log = MemoryLog()
    log.write(write(made[:3]))
    log.begin_write(write(made[3:], confirmed=2))
    log.crash(torn=torn)
    found = log.recover()
    kept = 3 if torn < len(made[3].raw) else 4
    assert (found.quarantined, found.last, found.confirmed) == (None, kept, 0)
    assert found.dropped_tail == torn - len(record.encode(made[3:kept]))
    log.write(write(made[kept:]))
    assert log.entries(Index(1), Index(6)) == made


# ------------------------------------------------------------------- at or below the durable mark


@pytest.mark.parametrize(
    ("record_at", "byte", "last"),
    [(7, 60, 7), (7, -1, 8), (7, 0, 6), (5, 3, 4), (1, 50, 0), (1, 42, 0)],
)
def test_a_flipped_bit_below_the_mark_quarantines_and_drops_nothing(
    three: Path, record_at: int, byte: int, last: int
) -> None:
    flip(three, record_at=record_at, byte=byte)
    for _ in range(2):
        with recovered(three) as (log, found):
            assert (found.last, found.dropped_tail) == (last, 0)
            assert found.ballot == MEMBER
            assert "9 was durable" in (found.quarantined or "")
            assert log.entries(Index(1), found.last) == some(9)[:last]
            with pytest.raises(Damaged, match="takes no writes"):
                log.write(write(some(1)))


def test_a_quarantined_log_is_set_aside_whole_when_it_starts_over(three: Path) -> None:
    flip(three, record_at=5, byte=3)
    with recovered(three) as (log, says):
        log.start_over(why=f"told: {says.quarantined} / twice")
    with recovered(three) as (_, found):
        assert (found.last, found.quarantined) == (0, None)
        assert found.ballot == replace(MEMBER, member=False)
    aside = three / "log.damaged-1"
    assert (aside / "data.mdb").exists()
    assert "9 was durable / twice" in (aside / "why.txt").read_text()


@pytest.mark.parametrize("where", ["prepared", "set aside"])
def test_a_kill_while_a_log_starts_over_loses_neither_term_nor_vote(
    three: Path, where: str
) -> None:
    flip(three, record_at=5, byte=3)
    child(
        """
        import os
        from pathlib import Path
        from qsync.store import log as module
        from qsync.store.memory import NOBODY

        real, after = module.set_aside, sys.argv[2] == "set aside"

        def last_act(path, *, why):
            if after:
                real(path, why=why)
            os._exit(0)

        module.set_aside = last_act
        log = module.LmdbLog(Path(sys.argv[1]) / "log", identity=NOBODY)
        log.recover()
        log.start_over(why="told")
        """,
        three,
        where,
    )
    with recovered(three) as (log, found):
        assert found.ballot == (MEMBER if where == "prepared" else replace(MEMBER, member=False))
        assert (found.quarantined is None) is (where != "prepared")
        if where == "prepared":
            log.start_over(why="again")
    with recovered(three) as (_, found):
        assert (found.last, found.quarantined) == (0, None)
        assert found.ballot == replace(MEMBER, member=False)
    assert not (three / "log.new").exists()


def test_a_log_that_was_half_made_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "log.new").mkdir()
    (tmp_path / "log.new" / "data.mdb").write_bytes(b"half of a database")
    with recovered(tmp_path) as (log, found):
        assert (found.last, found.quarantined) == (0, None)
        log.write(write(some(1)))
    assert not (tmp_path / "log.new").exists()


def test_a_log_that_is_no_database_is_set_aside_and_quarantined_until_it_starts_over(
    three: Path,
) -> None:
    (three / "log" / "data.mdb").write_bytes(b"not a database" * 1000)
    with recovered(three) as (log, found):
        assert (found.last, found.untrusted) == (0, True)
        assert "MDB_INVALID" in (found.quarantined or "")
        with pytest.raises(Damaged):
            log.write(write(some(1)))
        log.start_over(why="told")
        log.write(write(some(1)))
    assert (three / "log.damaged-1" / "data.mdb").read_bytes().startswith(b"not a database")
    with recovered(three) as (_, found):
        assert (found.last, found.quarantined) == (1, None)


def test_a_log_that_is_no_database_is_left_where_it_is_until_it_starts_over(three: Path) -> None:
    """Who only reads changes nothing; nor is a kill before the node is a new instance forgotten."""
    (three / "log" / "data.mdb").write_bytes(b"not a database" * 1000)
    for _ in range(2):
        with recovered(three) as (log, found):
            assert (found.last, found.untrusted) == (0, True)
            assert list(log.stored()) == []
            assert log.archived() == []
            assert log.bytes_used() > 0
        assert [each.name for each in three.iterdir()] == ["log"]


def test_a_log_is_set_aside_only_so_many_times(three: Path) -> None:
    with recovered(three) as (log, _):
        for _ in range(9):
            log.start_over(why="again")
        with pytest.raises(StoreError, match="set aside 9 times already"):
            log.start_over(why="again")
        log.write(write(some(1)))


def lose_a_record(path: Path) -> None:
    with raw(path, "batches") as (txn, db):
        txn.delete(U64.pack(5), db=db)


def lose_the_tail(path: Path) -> None:
    with raw(path, "batches") as (txn, db):
        txn.delete(U64.pack(7), db=db)


def empty_a_record(path: Path) -> None:
    put(path, 7, b"")


def change_history(path: Path) -> None:
    """Entries that chain, but are not those that were acked."""
    put(path, 7, record.encode(some(3, after=some(6)[-1], term=2)))


def damage_the_numbers(path: Path) -> None:
    with raw(path, "meta") as (txn, db):
        txn.put(b"numbers", b"\0" * 37, db=db)


def shorten_the_numbers(path: Path) -> None:
    with raw(path, "meta") as (txn, db):
        txn.put(b"numbers", b"\0" * 5, db=db)


def lose_the_numbers(path: Path) -> None:
    with raw(path, "meta") as (txn, db):
        txn.delete(b"numbers", db=db)


@pytest.mark.parametrize(
    ("harm", "says", "last"),
    [
        (lose_a_record, "record 7 follows index 4; 9 was durable", 4),
        (lose_the_tail, "the log ends at 6; 9 was durable", 6),
        (empty_a_record, "an empty record after index 6; 9 was durable", 6),
        (change_history, "entry 9 is not the one that was made durable", 9),
        (damage_the_numbers, "the ballot with the durable mark does not verify", 9),
        (shorten_the_numbers, "the ballot with the durable mark does not verify", 9),
        (lose_the_numbers, "the ballot with the durable mark is missing", 9),
    ],
)
def test_a_log_that_contradicts_its_mark_is_quarantined_with_the_reason(
    three: Path, harm: Callable[[Path], None], says: str, last: int
) -> None:
    harm(three)
    with recovered(three) as (_, found):
        assert (found.quarantined, found.last, found.dropped_tail) == (says, last, 0)


def test_without_its_ballot_a_log_is_not_trusted_and_what_follows_it_is_a_new_one(
    three: Path,
) -> None:
    lose_the_numbers(three)
    with recovered(three) as (log, found):
        assert found.untrusted
        log.start_over(why="told", untrusted=True)
    with recovered(three) as (_, found):
        assert (found.ballot, found.untrusted) == (NO_BALLOT, False)


def test_a_damaged_log_keeps_term_and_vote_and_is_no_member(three: Path) -> None:
    lose_a_record(three)
    with recovered(three) as (log, found):
        assert (found.untrusted, found.ballot) == (False, MEMBER)
        log.start_over(why="told")
    with recovered(three) as (_, found):
        assert found.ballot == replace(MEMBER, member=False)


def test_memory_quarantines_as_lmdb_does() -> None:
    def fresh() -> MemoryLog:
        log = MemoryLog()
        log.write(write(some(9)[:5]))
        log.write(write(some(9)[5:]))
        return log

    lied = fresh()
    lied.lose_tail(above=Index(7))
    assert lied.recover().quarantined == "the log ends at 7; 9 was durable"
    for index in range(1, 10):
        for bit in (0, 200, 8 * record.HEADER_SIZE):
            log = fresh()
            log.damage(Index(index), bit=bit)
            found = log.recover()
            assert (found.last, found.dropped_tail) == (index - 1, 0)
            assert "9 was durable" in (found.quarantined or "")
            with pytest.raises(Damaged):
                log.write(write())


def test_a_file_that_lost_its_end_is_damage_and_does_not_kill_the_process(tmp_path: Path) -> None:
    log = lmdb_log(tmp_path)
    log.recover()
    made = some(300)
    for at in range(0, 300, 10):
        log.write(write(made[at : at + 10]))
    log.close()
    file = tmp_path / "log" / "data.mdb"
    os.truncate(file, file.stat().st_size // 2)
    answer = child(
        """
        from pathlib import Path
        from qsync.errors import Damaged
        from qsync.store.log import LmdbLog
        from qsync.store.memory import NOBODY
        try:
            found = LmdbLog(Path(sys.argv[1]), identity=NOBODY).recover()
            print("quarantined" if found.quarantined else "whole")
        except Damaged:
            print("quarantined")
        """,
        tmp_path / "log",
    )
    assert answer == "quarantined"


# ----------------------------------------------------------------------- crashes and disk faults


def test_a_crash_in_memory_loses_the_write_in_flight_unless_it_landed() -> None:
    made = some(4)
    log = MemoryLog()
    log.write(write(made[:2]))
    log.begin_write(write(made[2:]))
    log.crash()
    assert log.recover().last == 2
    log.begin_write(write(made[2:]))
    log.crash(landed=True)
    assert log.recover().last == 4
    log.begin_write(write(cut_above=1))
    log.crash(torn=3)
    assert (log.recover().last, log.archived()) == (4, [])


def test_a_write_that_failed_in_memory_left_nothing_and_the_next_one_works() -> None:
    made = some(3)
    log = MemoryLog()
    log.write(write(made[:1]))
    log.fault = DiskFull("no room")
    with pytest.raises(DiskFull):
        log.write(write(made[1:], cut_above=0))
    assert (log.last, log.archived()) == (1, [])
    log.fault = None
    log.write(write(made[1:]))
    assert log.recover().last == 3
