"""Columns of a log: thousands of bodies opened at once tell what each tells alone."""

import os

from hypothesis import given
from hypothesis import strategies as st

from admin.evidence import arrow, columns, opening, rows
from admin.evidence.tables import TABLES
from qsync import record
from qsync.data import body
from qsync.record import Entry, EntryKind, LimboRef, ref_body
from qsync.wire import packed

numbers = st.integers(0, 30) | st.integers(0, 2**64 - 1)
small = st.integers(0, 30) | st.integers(0, 2**32)


def effect(space: int, key: bytes, row: bytes | None) -> list[object]:
    return [space, key, row]


effects = st.builds(effect, small, st.binary(max_size=300), st.none() | st.binary(max_size=20))
transactions = st.builds(
    lambda session, seq, low, found: body.encode((session, seq, low), found, []),
    st.binary(max_size=70),
    numbers,
    numbers,
    st.lists(effects, max_size=3),
)
damaged = st.builds(
    lambda whole, cut, at, bit: bytes(
        each ^ (bit if place == at else 0) for place, each in enumerate(whole[:cut])
    ),
    transactions,
    st.integers(0, 400),
    st.integers(0, 100),
    st.integers(0, 255),
)
refs = st.builds(lambda owner, lsn: ref_body(LimboRef(owner, lsn)), numbers, numbers)
bodies = transactions | damaged | refs | st.binary(max_size=40)
logs = st.lists(st.tuples(st.sampled_from([*EntryKind, 99]), bodies), min_size=1, max_size=20)


def log(found: list[tuple[int, bytes]]) -> list[Entry]:
    entries: list[Entry] = []
    for index, (kind, content) in enumerate(found, start=1):
        entries.append(
            record.make(
                index=index,
                term=3,
                origin=2,
                lsn=index,
                kind=kind,
                flags=1,
                time=index / 4,
                body=content,
                previous=entries[-1].crc if entries else 0,
            )
        )
    return entries


def one_by_one(entries: list[Entry]) -> list[dict[str, object]]:
    none = dict.fromkeys(TABLES["wal"].columns)
    return [none | {"run_id": "r"} | rows.wal_row(each, node=7) for each in entries]


@given(logs)
def test_columns_tell_what_rows_tell(found: list[tuple[int, bytes]]) -> None:
    entries = log(found)
    batch = arrow.entries(record.encode(entries), run_id="r", node=7, generation=1)
    assert batch.to_pylist() == one_by_one(entries)


@given(logs)
def test_packed_rows_tell_what_entries_tell(found: list[tuple[int, bytes]]) -> None:
    entries = log(found)
    long = packed.pack(record.encode(entries), opening=opening.BYTES_MAX).rows
    assert list(rows.packed_rows(long, node=7)) == [rows.wal_row(each, node=7) for each in entries]


@given(logs, st.integers(0, opening.BYTES_MAX))
def test_a_short_opening_is_either_enough_or_says_so(
    found: list[tuple[int, bytes]], size: int
) -> None:
    entries = log(found)
    opened = columns.columns(packed.pack(record.encode(entries), opening=size).rows)
    controls = any(kind != EntryKind.TXN for kind, _ in found)
    if opened.whole and not (controls and size < 19):
        batch = arrow.wal(opened, run_id="r", node=7, generation=1)
        assert batch.to_pylist() == one_by_one(entries)


@given(logs)
def test_the_longest_opening_is_always_enough(found: list[tuple[int, bytes]]) -> None:
    raw = record.encode(log(found))
    assert columns.columns(packed.pack(raw, opening=opening.BYTES_MAX).rows).whole


def test_usual_transactions_fit_into_a_short_opening() -> None:
    usual = body.encode(
        (os.urandom(16), 10**6, 10**6), [effect(513, os.urandom(18), b"x" * 100)], []
    )
    opened = columns.columns(packed.pack(log([(1, usual)])[0].raw, opening=64).rows)
    assert opened.whole
    assert opened.key_hash.known.all()


def test_no_entries_make_no_rows() -> None:
    opened = columns.columns(packed.pack(b"", opening=8).rows)
    assert arrow.wal(opened, run_id="r", node=7, generation=1).num_rows == 0


@given(st.binary(max_size=400), st.binary(max_size=400))
def test_hashes_of_keys_tell_keys_apart_also_by_their_length(one: bytes, two: bytes) -> None:
    same = (one[: opening.KEY_BYTES_MAX], len(one)) == (two[: opening.KEY_BYTES_MAX], len(two))
    assert (opening.key_hash(1, one) == opening.key_hash(1, two)) == same
    assert opening.key_hash(1, one) != opening.key_hash(2, one)
