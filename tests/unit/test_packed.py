"""Stretches of a log as rows of one width: nothing is left out, nothing is made up."""

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qsync import record
from qsync.errors import ProtocolError
from qsync.record import HEADER, HEADER_SIZE, Entry, RecordDamage
from qsync.wire import packed, replies
from qsync.wire.frames import Frames
from qsync.wire.packed import PackedAnswer, PackedRows

bodies = st.lists(st.binary(max_size=80), max_size=12)
openings = st.integers(0, 100)


def log(found: list[bytes]) -> list[Entry]:
    entries: list[Entry] = []
    for index, body in enumerate(found, start=1):
        entries.append(
            record.make(
                index=index,
                term=3,
                origin=2,
                lsn=index,
                kind=1,
                flags=1,
                time=1.5,
                body=body,
                previous=entries[-1].crc if entries else 0,
            )
        )
    return entries


def unpacked(rows: PackedRows) -> list[tuple[tuple[int, ...], bytes, int]]:
    """Header, opening of the body, and checksum of the whole body, of every row."""
    crcs = struct.unpack(f"<{rows.entries}I", rows.crcs)
    found = []
    for number, crc in enumerate(crcs):
        row = rows.slab[number * rows.width : (number + 1) * rows.width]
        header = HEADER.unpack_from(row)
        found.append((header, row[HEADER_SIZE:][: header[6]], crc))
    return found


@given(bodies, openings, st.integers(1, 5), st.integers(1, 200))
def test_rows_hold_every_header_and_the_beginning_of_every_body(
    found: list[bytes], opening: int, entries_max: int, bytes_max: int
) -> None:
    entries = log(found)
    batch, at = record.encode(entries), 0
    parts: list[PackedRows] = []
    while at < len(batch):
        some = packed.pack(
            batch, opening=opening, at=at, entries_max=entries_max, bytes_max=bytes_max
        )
        assert 1 <= some.rows.entries <= entries_max
        parts.append(some.rows)
        at = some.stop
    rows = packed.join(parts or [packed.none(opening)])
    assert unpacked(rows) == [
        (HEADER.unpack_from(each.raw), each.body[:opening], zlib.crc32(each.body))
        for each in entries
    ]


@given(bodies.filter(bool), openings)
def test_an_answer_comes_back_as_it_was(found: list[bytes], opening: int) -> None:
    rows = packed.pack(record.encode(log(found)), opening=opening).rows
    answer = PackedAnswer(first=5, reached=4 + rows.entries, durable=1 << 40, before=7, rows=rows)
    (payload,) = Frames().feed(packed.reply(3, answer))
    number, found_again = replies.decode(payload)
    assert number == 3
    assert isinstance(found_again, list)
    assert packed.read(found_again) == answer


@given(bodies.filter(bool), st.data())
def test_torn_bytes_are_damage(found: list[bytes], data: st.DataObject) -> None:
    entries = log(found)
    batch = record.encode(entries)
    whole = [0, *(len(record.encode(entries[: n + 1])) for n in range(len(entries)))]
    cut = data.draw(st.integers(0, len(batch)).filter(lambda at: at not in whole))
    with pytest.raises(RecordDamage):
        packed.pack(batch[:cut], opening=8)


def test_entries_are_skipped_by_their_length() -> None:
    entries = log([b"a", b"bb", b"ccc"])
    batch = record.encode(entries)
    assert packed.first_index(batch[packed.skip(batch, 2) :]) == 3
    assert packed.skip(batch, 3) == len(batch)
    with pytest.raises(RecordDamage):
        packed.skip(batch, 4)
    with pytest.raises(RecordDamage):
        packed.first_index(b"")


def test_what_an_answer_may_weigh_is_limited() -> None:
    assert packed.fitting(10, 64) == 10
    assert packed.fitting(1 << 60, 0) == packed.ENTRIES_MAX
    wide = packed.fitting(1 << 60, packed.OPENING_BYTES_MAX)
    assert 0 < wide * packed.OPENING_BYTES_MAX < packed.ANSWER_BYTES_MAX


@pytest.mark.parametrize(
    "odd",
    [
        [1, 2, 2, 0, HEADER_SIZE, b"", b""],
        [1, 1, 1, 0, 10, bytes(10), bytes(4)],
        [1, 1, 1, 0, HEADER_SIZE, bytes(HEADER_SIZE), bytes(8)],
        [1, 1, 1, 0, HEADER_SIZE, bytes(HEADER_SIZE + 1), bytes(4)],
        [1, 1, 1, 0, HEADER_SIZE],
    ],
)
def test_rows_that_do_not_fit_together_are_no_answer(odd: list[object]) -> None:
    with pytest.raises(ProtocolError):
        packed.read(odd)
