"""Segments of the log: what of their bytes is a torn end, what is damage, and what is neither."""

import os
import shutil
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from random import Random

import pytest

from election.messages import Index, Replica, Term
from qsync import record
from qsync.errors import Damaged, StoreError, WrongFormat
from qsync.record import Entry
from qsync.store.contract import NO_BALLOT, RecoveredLog
from qsync.store.meta import EMPTY
from qsync.store.segments import format as form
from qsync.store.segments import writing
from qsync.store.segments.copied import SegmentCopy
from qsync.store.segments.files import (
    MARK,
    SPARE,
    USED,
    make_spare,
    place_segment,
    retire_segment,
    segment_numbers,
    segment_path,
)
from qsync.store.segments.format import SECTOR
from qsync.store.segments.index import POINT_BYTES, RecordPlace, SparseIndex
from qsync.store.segments.log import SegmentLog
from qsync.store.segments.scan import scan_log
from qsync.store.segments.spare import SpareInThread
from tests.unit.logs import FIRST_BYTES, MEMBER, SEGMENT_BYTES, chain, segment_log, some, write

NUMBERS = form.pack_numbers(EMPTY)
LATER = replace(MEMBER, term=Term(5), vote=Replica(3))


def found_in(path: Path) -> RecoveredLog:
    """Recovered and closed again."""
    log = segment_log(path)
    try:
        return log.recover()
    finally:
        log.close()


def contents(path: Path) -> list[Entry]:
    log = segment_log(path)
    try:
        last = log.recover().last
        return log.entries(Index(1), last)
    finally:
        log.close()


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """A log of three records in one segment: 1..4, 5..6, 7..9; closed, and the mark with it."""
    made, log = some(9), segment_log(tmp_path)
    log.recover()
    for part in (made[:4], made[4:6], made[6:]):
        log.write(write(part, confirmed=3))
    log.close()
    return tmp_path


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A log of several segments, closed."""
    write_many(tmp_path)
    assert segment_numbers(tmp_path / "log") == [1, 2, 3, 4]
    return tmp_path


def write_many(path: Path) -> list[Entry]:
    made = chain([b"%03d" % number * 100 for number in range(150)])
    log = segment_log(path)
    log.recover()
    for at in range(0, len(made), 3):
        log.write(write(made[at : at + 3], ballot=replace(MEMBER, term=Term(1 + at))))
    log.close()
    return made


def segment(path: Path, number: int = 1) -> Path:
    return segment_path(path / "log", number)


def change(file: Path, at: int, data: bytes) -> None:
    with file.open("r+b") as opened:
        opened.seek(at)
        opened.write(data)


def places(path: Path, number: int = 1) -> list[tuple[int, int]]:
    """Offset and size of the records of a segment."""
    data, found, at = segment(path, number).read_bytes(), [], SECTOR
    seed = form.salt(scan_log(path / "log").log, number)
    while (head := form.unpack_head(data[at : at + SECTOR], seed=seed)) is not None:
        found.append((at, head.size))
        at += head.size
    return found


# ------------------------------------------------------------------------------------- torn ends


def torn(path: Path, big: Entry, *, landed: Callable[[int], bool]) -> None:
    """A record of several sectors was under way; of them, those landed that are said."""
    file, before = segment(path), segment(path).read_bytes()
    (path / "before").write_bytes((path / "log" / MARK).read_bytes())
    log = segment_log(path)
    log.recover()
    log.write(write([big], ballot=LATER))
    log.close()
    (path / "log" / MARK).write_bytes((path / "before").read_bytes())
    after = bytearray(file.read_bytes())
    changed = [
        at
        for at in range(0, len(after), SECTOR)
        if after[at : at + SECTOR] != before[at : at + SECTOR]
    ]
    assert len(changed) == 4
    for number, at in enumerate(changed):
        if not landed(number):
            after[at : at + SECTOR] = before[at : at + SECTOR]
    file.write_bytes(after)


SUBSETS = [set(kept) for count in range(5) for kept in combinations(range(4), count)]


@pytest.mark.parametrize("kept", SUBSETS, ids=str)
def test_of_a_record_that_was_under_way_all_is_there_or_nothing(
    three: Path, kept: set[int]
) -> None:
    (big,) = chain([b"a body of more than one sector " * 60], after=some(9)[-1])
    torn(three, big, landed=lambda number: number in kept)
    whole = len(kept) == 4
    found = found_in(three)
    assert (found.quarantined, found.untrusted) == (None, False)
    assert (found.last, found.ballot) == ((10, LATER) if whole else (9, MEMBER))
    assert bool(found.dropped_tail) is (bool(kept) and not whole)
    # What was dropped is gone for good, and the log goes on over it.
    assert found_in(three).dropped_tail == 0
    log = segment_log(three)
    log.recover()
    follows = some(2, after=big if whole else some(9)[-1])
    log.write(write(follows))
    log.close()
    assert contents(three)[-2:] == follows


@pytest.mark.parametrize("kept", SUBSETS, ids=str)
def test_the_same_loss_of_a_record_that_was_flushed_is_damage(three: Path, kept: set[int]) -> None:
    """Whoever was told of it counts on it: the mark knows, though no record follows."""
    (big,) = chain([b"a body of more than one sector " * 60], after=some(9)[-1])
    torn(three, big, landed=lambda number: number in kept)
    log = scan_log(three / "log").log
    (three / "log" / MARK).write_bytes(form.pack_mark(log, 4))
    found = found_in(three)
    if len(kept) == 4:
        assert (found.quarantined, found.last) == (None, 10)
        return
    assert found.quarantined is not None
    assert (found.last, found.dropped_tail) == (9, 0)
    # The first sector has the ballot; without it nobody knows what was promised.
    assert found.untrusted is (0 not in kept)
    assert found.ballot == (LATER if 0 in kept else NO_BALLOT)


def test_a_body_of_zeros_is_not_taken_for_sectors_that_were_never_written(three: Path) -> None:
    (big,) = chain([bytes(9 * SECTOR)], after=some(9)[-1])
    log = segment_log(three)
    log.recover()
    log.write(write([big]))
    log.close()
    data = segment(three).read_bytes()
    (*_, (at, size)) = places(three)
    assert size == 10 * SECTOR
    assert all(data[here : here + SECTOR].strip(b"\0") for here in range(at, at + size, SECTOR))
    assert contents(three)[-1] == big
    change(segment(three), at + 5 * SECTOR, b"?")
    (three / "log" / MARK).unlink()
    assert "a checksum that does not hold" in (found_in(three).quarantined or "")


def test_a_body_that_no_mask_keeps_from_blank_sectors_is_stored_as_it_is(tmp_path: Path) -> None:
    body = b"".join(bytes((each,)) * (2 * SECTOR) for each in range(256))
    made = chain([body])
    log = segment_log(tmp_path)
    log.recover()
    log.write(write(made))
    log.close()
    assert contents(tmp_path) == made
    (at, _) = places(tmp_path, 2)[0]
    (tmp_path / "log" / MARK).unlink()
    change(segment(tmp_path, 2), at + 20 * SECTOR, b"?")
    assert found_in(tmp_path).quarantined is not None  # in doubt it is damage, never torn


@pytest.mark.parametrize("missing", [0, 1, 128, 255])
def test_a_body_with_one_byte_to_mask_with_is_masked_with_it(missing: int) -> None:
    """Sectors full of every other byte, and half a sector of that one."""
    first = b"?" * (SECTOR - form.HEAD_SIZE)
    full = b"".join(bytes((each,)) * SECTOR for each in range(256) if each != missing)
    draft = form.RecordDraft(form.APPEND, 0, NUMBERS, first + full + bytes((missing,)) * 256)
    packed = form.pack_record(draft, sequence=1, keeps=1, seed=7)
    head = form.unpack_head(packed[:SECTOR], seed=7)
    assert head is not None
    assert (head.kind, head.mask) == (form.APPEND, missing)
    assert all(packed[at : at + SECTOR].strip(b"\0") for at in range(0, len(packed), SECTOR))
    assert form.verifies(head, packed, seed=7)
    assert form.payload_of(head, packed) == draft.payload


@pytest.mark.pure
def test_no_body_makes_its_writer_try_one_mask_after_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Clients choose what is in it: a try for each byte is minutes for a large one."""
    tries: list[int] = []
    masked = form.masked

    def counted(payload: bytes, mask: int) -> bytes:
        tries.append(mask)
        return masked(payload, mask)

    monkeypatch.setattr(form, "masked", counted)
    body = b"".join(bytes((each,)) * (2 * SECTOR) for each in range(256))
    draft = form.RecordDraft(form.APPEND, 0, NUMBERS, body)
    form.pack_record(draft, sequence=1, keeps=1, seed=7)
    assert len(tries) == 1


# ---------------------------------------------------------------------------------------- damage


@pytest.mark.parametrize("marked", [True, False], ids=["marked", "mark lost"])
def test_no_flipped_bit_of_a_log_goes_unnoticed(three: Path, marked: bool) -> None:
    """Wherever it is: what is given out is what was written, up to the record that was harmed."""
    if not marked:
        (three / "log" / MARK).unlink()
    made, dice, sound = some(9), Random(1), segment(three).read_bytes()
    parts = [
        (0, SECTOR, 0),
        *((at, size, last) for (at, size), last in zip(places(three), (0, 4, 6), strict=True)),
    ]
    for begin, size, last in parts:
        for _ in range(60):
            at = begin + dice.randrange(size)
            change(segment(three), at, bytes([sound[at] ^ 1 << dice.randrange(8)]))
            log = segment_log(three)
            found = log.recover()
            entries = log.entries(Index(1), found.last)
            log.close()
            segment(three).write_bytes(sound)
            if found.quarantined is None:  # behind a payload, or a header, nothing is read
                assert (found.last, found.ballot, found.confirmed) == (9, MEMBER, 3)
            else:
                assert found.last == last
                assert found.ballot == (NO_BALLOT if found.untrusted else MEMBER)
            assert entries == made[: found.last]


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_flipped_bit_in_what_a_record_says_quarantines(three: Path, number: int) -> None:
    at, _ = places(three)[number]
    for where in (0, 4, 6, 30, 60, form.HEAD_SIZE - 1, form.HEAD_SIZE, form.HEAD_SIZE + 60):
        sound = segment(three).read_bytes()
        change(segment(three), at + where, bytes([sound[at + where] ^ 0x10]))
        for _ in range(2):
            log = segment_log(three)
            found = log.recover()
            assert found.quarantined is not None
            assert found.last == (0, 4, 6)[number]
            # The ballot of the last record is lost with its head, and with nothing else.
            assert found.untrusted is (number == 2 and where < form.HEAD_SIZE)
            with pytest.raises(Damaged, match="takes no writes"):
                log.write(write(some(1)))
            log.close()
        segment(three).write_bytes(sound)


def harm_header(path: Path) -> None:
    file = segment(path, 2)
    change(file, 20, bytes([file.read_bytes()[20] ^ 0xFF]))  # of a number drawn by chance


def lose_middle(path: Path) -> None:
    segment(path, 2).unlink()


def lose_first(path: Path) -> None:
    segment(path, 1).unlink()


def lose_last(path: Path) -> None:
    segment(path, 4).unlink()


def swap(path: Path) -> None:
    segment(path, 2).rename(path / "other")
    segment(path, 3).rename(segment(path, 2))
    (path / "other").rename(segment(path, 3))


def repeat(path: Path) -> None:
    shutil.copy(segment(path, 2), segment(path, 3))


def repeat_as_last(path: Path) -> None:
    """And the mark, which would tell of a newer record, went with a power cut."""
    shutil.copy(segment(path, 2), segment(path, 4))
    (path / "log" / MARK).unlink()


def shorten(path: Path) -> None:
    os.truncate(segment(path, 4), 3 * SECTOR)


def shorten_blank(path: Path) -> None:
    os.truncate(segment(path, 4), segment(path, 4).stat().st_size - SECTOR)


def blank_sector(path: Path) -> None:
    at, _ = places(path, 2)[2]
    change(segment(path, 2), at, bytes(SECTOR))


def lose_end(path: Path) -> None:
    at, _ = places(path, 2)[-1]
    change(segment(path, 2), at, bytes(SECTOR))


def blank_tail(path: Path) -> None:
    at, size = places(path, 4)[-1]
    change(segment(path, 4), at, bytes(size))


@pytest.mark.parametrize(
    ("harm", "says", "untrusted"),
    [
        (harm_header, "the header of segment 2 does not verify", False),
        (lose_middle, "segment 2 is missing", False),
        (lose_first, "segment 1 is missing", False),
        (lose_last, "segment 4 is missing", True),
        (swap, "segment 2 says that it is 3", False),
        (repeat, "segment 3 says that it is 2", False),
        (repeat_as_last, "segment 4 says that it is 2", True),
        (shorten, "", True),
        (shorten_blank, "segment 4 is shorter than it was made", True),
        (blank_sector, "is missing", False),
        (lose_end, "is missing", False),
        (blank_tail, "is missing", True),
    ],
)
def test_a_log_that_lost_something_is_quarantined_with_the_reason(
    many: Path, harm: Callable[[Path], None], says: str, untrusted: bool
) -> None:
    whole = contents(many)
    newest = found_in(many).ballot
    harm(many)
    found = found_in(many)
    assert found.quarantined is not None
    assert says in found.quarantined
    assert (found.untrusted, found.dropped_tail) == (untrusted, 0)
    assert found.ballot == (NO_BALLOT if untrusted else newest)
    assert contents(many) == whole[: found.last]


def test_a_log_without_any_segment_is_no_log(many: Path) -> None:
    for number in segment_numbers(many / "log"):
        segment(many, number).unlink()
    found = found_in(many)
    assert (found.last, found.ballot, found.quarantined) == (0, NO_BALLOT, None)
    assert (many / "log.damaged-1" / MARK).exists()


def test_a_segment_of_another_log_is_not_read(many: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    write_many(other)
    shutil.copy(segment(other, 3), segment(many, 3))
    found = found_in(many)
    assert "segment 3 is one of another log" in (found.quarantined or "")
    assert not found.untrusted


def test_a_segment_of_a_later_version_is_refused(three: Path) -> None:
    sector = bytearray(segment(three).read_bytes()[:SECTOR])
    sector[8:10] = (99).to_bytes(2, "big")
    size = struct.calcsize(">8sH16sQQQQ37s")
    sector[size : size + 4] = zlib.crc32(sector[:size]).to_bytes(4, "big")
    change(segment(three), 0, bytes(sector))
    with pytest.raises(WrongFormat, match="version 99"):
        found_in(three)


def test_a_damaged_log_starts_over_with_its_ballot(many: Path) -> None:
    newest = found_in(many).ballot
    lose_middle(many)
    log = segment_log(many)
    log.start_over(why=str(log.recover().quarantined))
    found = log.recover()
    assert (found.last, found.quarantined) == (0, None)
    assert found.ballot == replace(newest, member=False)
    log.write(write(some(1)))
    log.close()
    assert "segment 2 is missing" in (many / "log.damaged-1" / "why.txt").read_text()


# --------------------------------------------------------------------------- switches and spares


def write_each(log: SegmentLog, entries: list[Entry]) -> None:
    for entry in entries:
        log.write(write([entry]))


class Killed(Exception):
    """The process is gone."""


@pytest.mark.pure
@pytest.mark.parametrize("step", ["spare", "placed", "ended"])
def test_a_kill_while_a_segment_is_switched_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    made = chain([b"x" * 700 for _ in range(20)])
    log = segment_log(tmp_path)
    log.recover()

    def placed(folder: Path, header: form.SegmentHeader) -> None:
        if step == "placed":
            place_segment(folder, header)
        if step != "ended":
            raise Killed
        place_segment(folder, header)

    def opened(self: writing.SegmentWriter, number: int) -> int:
        raise Killed

    monkeypatch.setattr("qsync.store.segments.writing.place_segment", placed)
    monkeypatch.setattr(writing.SegmentWriter, "_open_segment", opened)
    with pytest.raises(Killed):
        write_each(log, made)
    acked = log.last
    monkeypatch.undo()
    assert acked
    again = segment_log(tmp_path)
    found = again.recover()
    assert (found.last, found.quarantined) == (acked, None)
    again.write(write(made[acked:]))
    again.close()
    assert contents(tmp_path) == made


def test_a_spare_that_held_records_does_not_bring_them_back(many: Path) -> None:
    """Reused: what the file held before is overwritten with zeros before it has its name."""
    folder = many / "log"
    last = contents(many)[-1]
    shutil.copy(segment(many, 2), segment(many, 9))
    retire_segment(folder, 9)
    old = (folder / USED).read_bytes()
    assert old.strip(b"\0")
    make_spare(folder, len(old))
    inode = (folder / SPARE).stat().st_ino
    assert not (folder / SPARE).read_bytes().strip(b"\0")
    log = segment_log(many)
    log.recover()
    made = chain([b"y" * 900 for _ in range(40)], after=last)
    for entry in made:
        log.write(write([entry]))
    log.close()
    inodes = {segment(many, number).stat().st_ino for number in segment_numbers(folder)}
    assert inode in inodes
    assert contents(many)[-40:] == made


def test_records_of_another_place_do_not_verify_even_if_zeros_were_forgotten(many: Path) -> None:
    """Checksums begin with the log and the number of the segment."""
    at, size = places(many, 3)[0]
    stolen = segment(many, 3).read_bytes()[at : at + size]
    end, last_size = places(many, 4)[-1]
    change(segment(many, 4), end + last_size, stolen)
    found = found_in(many)
    assert "the head of a record does not verify" in (found.quarantined or "")


def test_a_spare_is_made_beside_the_writing(tmp_path: Path) -> None:
    spares = SpareInThread()
    log = segment_log(tmp_path, spares=spares)
    log.recover()
    made = chain([b"z" * 400 for _ in range(200)])
    for entry in made:
        log.write(write([entry]))
    assert log.bytes_used() > 2 * SEGMENT_BYTES
    log.close()
    sizes = [segment(tmp_path, n).stat().st_size for n in segment_numbers(tmp_path / "log")]
    assert sizes[:2] == [FIRST_BYTES, SEGMENT_BYTES]
    assert set(sizes[1:]) == {SEGMENT_BYTES}
    assert contents(tmp_path) == made


def test_a_spare_that_no_thread_can_make_is_made_when_it_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record before was flushed already: that no spare could be begun must not undo it."""

    def none_left(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", none_left)
    log = segment_log(tmp_path, spares=SpareInThread())
    log.recover()
    made = chain([b"z" * 400 for _ in range(80)])
    write_each(log, made)
    log.close()
    assert len(segment_numbers(tmp_path / "log")) > 1
    assert contents(tmp_path) == made


def test_a_directory_that_cannot_be_searched_undoes_no_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = segment_log(tmp_path, spares=SpareInThread())
    log.recover()
    made = chain([b"z" * 400 for _ in range(6)])  # more than half of a segment, and no switch
    exists = Path.exists

    def broken(path: Path) -> bool:
        if path.name == SPARE:
            raise OSError(5, "input/output error")
        return exists(path)

    monkeypatch.setattr(Path, "exists", broken)
    write_each(log, made)
    monkeypatch.undo()
    log.close()
    assert contents(tmp_path) == made


def test_zeros_of_a_thread_that_was_given_up_reach_no_spare_of_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It hung on the disk when the log was closed; what it filled is somebody else's now."""
    hangs, goes_on, told = threading.Event(), threading.Event(), list[str]()
    fdatasync, first = os.fdatasync, threading.Lock()

    def hanging(handle: int) -> None:
        if threading.current_thread().name == "log spare" and first.acquire(blocking=False):
            hangs.set()
            goes_on.wait(20)
            told.append("on")
        fdatasync(handle)

    monkeypatch.setattr(os, "fdatasync", hanging)
    monkeypatch.setattr("qsync.store.segments.spare.CLOSE_S_MAX", 0.01)
    spares = SpareInThread()
    spares.prepare(tmp_path, 3 << 20)
    assert hangs.wait(20)
    (stuck,) = (each for each in threading.enumerate() if each.name == "log spare")
    spares.close()
    spares.prepare(tmp_path, 3 << 20)
    spares.take_spare(tmp_path, 3 << 20)
    change(tmp_path / SPARE, 0, b"?" * (3 << 20))
    goes_on.set()
    stuck.join(20)
    assert told
    assert (tmp_path / SPARE).read_bytes() == b"?" * (3 << 20)


def test_a_record_larger_than_a_segment_has_one_of_its_own(tmp_path: Path) -> None:
    made = chain([b"small", os.urandom(3 * SEGMENT_BYTES), b"small again"])
    log = segment_log(tmp_path)
    log.recover()
    for entry in made:
        log.write(write([entry]))
    log.write(write(cut_above=1))
    log.close()
    again = segment_log(tmp_path)
    assert again.recover().last == 1
    (tail,) = again.archived()
    assert record.decode(tail.raw) == made[1:]
    again.close()


# ----------------------------------------------------------------------------------- after faults


@pytest.fixture
def log(tmp_path: Path) -> Iterator[SegmentLog]:
    made = segment_log(tmp_path)
    made.recover()
    yield made
    made.close()


def test_what_a_failed_write_left_is_gone_before_the_next_one(
    tmp_path: Path, log: SegmentLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record landed and its flush failed: the next attempt has another record there."""
    first = some(3)
    log.write(write(first))
    big = chain([b"failed" * 500], after=first[-1])

    def broken(_: int) -> None:
        raise OSError(5, "input/output error")

    monkeypatch.setattr(os, "fdatasync", broken)
    with pytest.raises(StoreError):
        log.write(write(big, ballot=LATER))
    monkeypatch.undo()
    assert log.last == 3
    other = some(1, after=first[-1])
    log.write(write(other))
    log.close()
    assert b"failed" not in segment(tmp_path).read_bytes()
    assert contents(tmp_path) == first + other


# -------------------------------------------------------------------------------------- the index


def test_the_index_has_a_point_for_many_records_and_finds_every_entry() -> None:
    index, at = SparseIndex(), SECTOR
    for number in range(20_000):
        index.add_record(RecordPlace(1, at), above=number, last=number + 1, tail=False)
        at += SECTOR
    assert len(index) == 20_000 * SECTOR // POINT_BYTES + 1
    for first in (1, 2, 700, 19_999, 20_000):
        begin = index.plan(first).begin
        assert 0 <= (first - 1) * SECTOR + SECTOR - begin.offset <= POINT_BYTES


def test_a_log_of_many_cuts_is_read_as_it_was_left(tmp_path: Path) -> None:
    dice, log = Random(3), segment_log(tmp_path)
    log.recover()
    model: list[Entry] = []
    for term in range(1, 120):
        above = dice.randint(max(0, len(model) - 9), len(model)) if dice.random() < 0.3 else None
        if above is not None:
            del model[above:]
        added = some(dice.randint(0, 5), after=model[-1] if model else None, term=term)
        model += added
        ballot = replace(MEMBER, term=Term(term))
        log.write(write(added, cut_above=above, ballot=ballot))
    for _ in range(2):
        for _ in range(60):
            first = dice.randint(1, len(model))
            last = dice.randint(first, len(model))
            assert log.entries(Index(first), Index(last)) == model[first - 1 : last]
        kept = [each for raw in log.stored() for each in record.headers(raw)]
        assert [header[8] for header in kept] == [each.crc for each in model]
        log.close()
        log = segment_log(tmp_path)
        assert log.recover().last == len(model)
    log.close()


def test_a_closed_log_is_not_read(log: SegmentLog) -> None:
    log.write(write(some(3)))
    log.close()
    with pytest.raises(StoreError, match="not open"):
        log.entries(Index(1), Index(3))


def test_records_in_rows_that_verify_are_not_looked_at_again(many: Path) -> None:
    """A start checks the entries above the folded rows; a reader of the rest gets the error."""
    whole = contents(many)
    at, _ = places(many)[0]
    change(segment(many), at + form.HEAD_SIZE + 60, b"?")
    log = segment_log(many)
    assert log.recover(trusted=Index(3)).quarantined is None
    assert log.entries(Index(4), Index(9)) == whole[3:9]
    with pytest.raises(Damaged, match="does not hold at 512"):
        log.entries(Index(1), Index(2))
    assert log.recover(trusted=Index(2)).quarantined is not None
    log.close()


def test_the_last_segment_is_looked_at_whatever_is_in_rows(three: Path) -> None:
    at, _ = places(three)[0]
    change(segment(three), at + form.HEAD_SIZE + 60, b"?")
    log = segment_log(three)
    assert log.recover(trusted=Index(9)).quarantined is not None
    log.close()


def test_segments_that_were_copied_in_turn_beside_a_writer_are_a_whole_log(tmp_path: Path) -> None:
    """Each is of a moment of its own; a copy of them is as long as the first that was not full."""
    made = chain([b"%03d" % number * 100 for number in range(120)])
    log = segment_log(tmp_path)
    log.recover()
    moments: list[tuple[int, dict[int, bytes]]] = []
    for each in made:
        log.write(write([each], confirmed=0))
        numbers = segment_numbers(tmp_path / "log")
        shot = {number: segment(tmp_path, number).read_bytes() for number in numbers}
        moments.append((int(each.index), shot))
    log.close()
    assert len(moments[-1][1]) > 2
    dice = Random(7)
    for _ in range(150):
        at = dice.randrange(len(moments))
        last, listed = moments[at]
        copy = tmp_path / "copy"
        copy.mkdir()
        for number in sorted(listed):
            segment_path(copy, number).write_bytes(moments[at][1][number])
            at = dice.randrange(at, len(moments))
        found = SegmentCopy(copy)
        assert found.fault is None
        assert found.last >= last
        rows = [entry for batch in found.batches(1) for entry in record.decode(batch)]
        assert rows == made[: found.last]
        shutil.rmtree(copy)
