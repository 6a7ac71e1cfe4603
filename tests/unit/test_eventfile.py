"""The files in which a node keeps what happened inside of it: frames, ends, limits, lives."""

import errno
import os
from pathlib import Path

import cbor2
import pytest

from qsync.store import eventfile, eventpack
from qsync.store.eventfile import FOLDER, EventFile, lives, note_unsaid, note_wiped
from qsync.store.eventpack import What

LIMIT = 1 << 20


def leads(at: int, term: int) -> list[object]:
    return [int(What.LEADS), at, term]


def begun(directory: Path, *, bytes_max: int = LIMIT) -> EventFile:
    return EventFile(directory, bytes_max=bytes_max)


def told(directory: Path) -> list[list[object]]:
    return [record for life in lives(directory) for record in life.records()]


def test_what_was_written_is_read_life_by_life(tmp_path: Path) -> None:
    for life in (1, 2):
        file = begun(tmp_path)
        assert file.number == life
        file.write([leads(life, 1), leads(life, 2)])
        file.write([leads(life, 3)])
        file.close()
    assert told(tmp_path) == [leads(life, term) for life in (1, 2) for term in (1, 2, 3)]


RECORDS: list[list[object]] = [
    [int(What.STARTED), 1, {"me": 1}, [0, None], [], b""],
    [int(What.WROTE), 2, None, None, 4, [[2, 3]], bytes(8)],
    [int(What.WROTE), 2, [3, 1], None, 4, [[2, 3]], bytes(8)],
    [int(What.WROTE), 2, None, 3, 4, [[1, 3], [1, 4]], bytes(8)],
    [int(What.WROTE), 2, [3, None], None, 0, [], b""],
    [int(What.VOTE), 3, 2, 7],
    [int(What.ACK), 4, 2, 7, 1 << 40, (1 << 32) - 1],
    [int(What.ACK), 4, 2, 7, 9, None],
    leads(5, 7),
    [int(What.CONFIRMED), 6, 9, 7, 3, 2],
    [int(What.ANSWERED), 7, 9],
    [int(What.SERVED), 8, 9, 7, 9, 7],
    [int(What.STOPPED), 9, "why"],
    [int(What.PROMISED), 10, 2, 7, 1 << 62],
    [int(What.RELEASED), 11, 2, 7],
    [int(What.CONFIGURED), 12, 9, 7, [[1, 5], [2, 6]]],
    [int(What.OPENED), 13, 1 << 33, 1 << 63],
    [int(What.SLEPT), 14, 1 << 50],
    [int(What.BEGAN), 15, 1 << 40, 7, (1 << 32) - 1],
    [int(What.LEADS), 16, 1 << 70],
]


def test_records_of_every_kind_are_read_as_they_were_written() -> None:
    assert {each[0] for each in RECORDS} == set(What)
    packed = [eventpack.pack(each) for each in RECORDS]
    assert list(eventpack.unpack(b"".join(packed))) == RECORDS
    assert max(map(len, packed[1:])) < 50


def test_frames_of_the_former_format_are_read() -> None:
    assert list(eventpack.unpack(cbor2.dumps(RECORDS))) == RECORDS


def test_of_a_torn_frame_nothing_is_read_and_of_the_others_everything(tmp_path: Path) -> None:
    file = begun(tmp_path)
    file.write([leads(1, 1)])
    whole = file.path.stat().st_size
    file.write([leads(2, 2)])
    file.close()
    complete = file.path.read_bytes()
    for size in range(whole, len(complete)):
        file.path.write_bytes(complete[:size])
        assert told(tmp_path) == [leads(1, 1)], size


def test_a_damaged_frame_is_told_as_an_end_and_not_passed_over(tmp_path: Path) -> None:
    file = begun(tmp_path)
    for term in (1, 2, 3):
        file.write([leads(term, term)])
    file.close()
    damaged = bytearray(file.path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    file.path.write_bytes(damaged)
    first, end = told(tmp_path)
    assert first == leads(1, 1)
    assert end[:2] == [What.STOPPED, 1]
    assert "is damaged at byte" in str(end[2])


def test_a_file_at_its_limit_says_so_and_takes_no_more(tmp_path: Path) -> None:
    file = begun(tmp_path, bytes_max=2000)
    for at in range(1000):
        file.write([leads(at, 1)])
    file.close()
    assert file.stopped == "node.events_bytes_max (2000) is reached"
    assert file.path.stat().st_size <= 2000
    *before, end = told(tmp_path)
    assert 0 < len(before) < 1000
    assert end == [What.STOPPED, len(before), file.stopped]


def test_the_limit_counts_all_lives(tmp_path: Path) -> None:
    file = begun(tmp_path, bytes_max=2000)
    for at in range(60):
        file.write([leads(at, 1)])
    file.close()
    assert not file.stopped
    second = begun(tmp_path, bytes_max=2000)
    for at in range(60):
        second.write([leads(at, 1)])
    second.close()
    assert second.stopped


def test_a_disk_that_takes_nothing_is_told_by_the_name_until_it_took_all(tmp_path: Path) -> None:
    file = begun(tmp_path)
    file.write([leads(1, 1)])
    good = file._fd
    full = os.open("/dev/full", os.O_WRONLY)
    file._fd = full
    file.write([leads(2, 2)])
    assert told(tmp_path) == [leads(1, 1), [What.STOPPED, 1, "the disk took no more"]]
    file._fd = good
    os.close(full)
    file.write([leads(3, 3)])
    file.close()
    assert told(tmp_path) == [leads(1, 1), leads(2, 2), leads(3, 3)]


def test_so_much_waits_for_a_full_disk_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eventfile, "PENDING_BYTES_MAX", 100)
    file = begun(tmp_path)
    good = file._fd
    file._fd = os.open("/dev/full", os.O_WRONLY)
    for at in range(50):
        file.write([leads(at, 1)])
    assert os.strerror(errno.ENOSPC) in file.stopped
    assert told(tmp_path) == [[What.STOPPED, 0, "the disk took no more"]]
    file.close()
    os.close(good)


def test_a_wiped_directory_begins_another_generation(tmp_path: Path) -> None:
    note_wiped(tmp_path)
    assert lives(tmp_path) == []
    for _ in range(2):
        begun(tmp_path).close()
    note_wiped(tmp_path)
    begun(tmp_path).close()
    assert [(each.number, each.generation) for each in lives(tmp_path)] == [(1, 1), (2, 1), (4, 2)]


def test_after_a_life_that_said_nothing_the_evidence_begins_anew(tmp_path: Path) -> None:
    note_unsaid(tmp_path)
    assert not (tmp_path / FOLDER).exists()
    begun(tmp_path).close()
    note_wiped(tmp_path)
    for _ in range(2):
        note_unsaid(tmp_path)
        assert lives(tmp_path) == []
    begun(tmp_path).close()
    assert [(each.number, each.generation) for each in lives(tmp_path)] == [(4, 2)]
