"""Entries come back as they were sealed, and no change to the bytes goes unnoticed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from election.messages import Replica
from qsync import record
from qsync.record import Entry, EntryKind, Flags, LimboRef, Lsn, RecordDamage
from tests.unit.logs import chain, some

u64 = st.integers(0, 2**64 - 1)
u32 = st.integers(0, 2**32 - 1)
entries = st.builds(
    record.make,
    index=u64,
    term=u64,
    origin=u32,
    lsn=u64,
    kind=st.sampled_from(list(EntryKind)),
    flags=st.sampled_from([0, 1, 2, 3]),
    time=st.floats(allow_nan=False),
    body=st.binary(max_size=300),
    previous=u32,
)
bodies = st.lists(st.binary(max_size=40), min_size=1, max_size=12)


@given(entries)
def test_an_entry_comes_back_from_its_bytes_with_every_field(entry: Entry) -> None:
    assert record.decode(entry.raw) == [entry]


@given(entries)
def test_the_body_is_the_bytes_after_the_header(entry: Entry) -> None:
    assert entry.raw[record.HEADER_SIZE :] == entry.body
    assert len(entry.raw) == record.HEADER_SIZE + len(entry.body)


@given(bodies)
def test_a_chain_verifies_from_its_seed(parts: list[bytes]) -> None:
    made = chain(parts)
    assert record.decode(record.encode(made), previous=record.CHAIN_SEED) == made
    assert [entry.body for entry in made] == parts


@given(bodies)
def test_headers_are_the_entries_without_their_bodies(parts: list[bytes]) -> None:
    made = chain(parts)
    assert list(record.headers(record.encode(made))) == [
        (
            *(each.index, each.term, each.origin, each.lsn, each.kind, each.flags),
            *(len(each.body), each.time, each.crc),
        )
        for each in made
    ]


@given(bodies, st.data())
def test_a_batch_cut_anywhere_is_torn_or_ends_at_an_entry(
    parts: list[bytes], data: st.DataObject
) -> None:
    made = chain(parts)
    batch = record.encode(made)
    length = data.draw(st.integers(0, len(batch)))
    whole = [at for at in range(len(made) + 1) if len(record.encode(made[:at])) == length]
    if whole:
        assert record.decode(batch[:length], previous=0) == made[: whole[0]]
    else:
        with pytest.raises(RecordDamage, match="torn"):
            record.decode(batch[:length], previous=0)


@given(bodies, st.data())
def test_no_flipped_bit_passes_a_verified_decode(parts: list[bytes], data: st.DataObject) -> None:
    batch = bytearray(record.encode(chain(parts)))
    bit = data.draw(st.integers(0, len(batch) * 8 - 1))
    batch[bit // 8] ^= 1 << bit % 8
    with pytest.raises(RecordDamage):
        record.decode(bytes(batch), previous=record.CHAIN_SEED)


def test_the_damage_names_the_last_whole_entry() -> None:
    made = some(3)
    batch = bytearray(record.encode(made))
    batch[-1] ^= 1
    with pytest.raises(RecordDamage, match="checksum of 3 does not hold after index 2") as caught:
        record.decode(bytes(batch), previous=0)
    assert caught.value.index == 2


def test_an_entry_from_another_history_does_not_chain() -> None:
    ours, theirs = chain([b"a", b"b"]), chain([b"x", b"b"])
    with pytest.raises(RecordDamage):
        record.decode(ours[0].raw + theirs[1].raw, previous=0)


def test_a_hole_is_damage_even_without_verification() -> None:
    made = some(3)
    with pytest.raises(RecordDamage, match="index 3 follows after index 1"):
        record.decode(made[0].raw + made[2].raw)


def test_an_empty_batch_has_no_entries() -> None:
    assert record.decode(b"", previous=record.CHAIN_SEED) == []
    assert list(record.headers(b"")) == []


@given(u32, u64)
def test_a_reference_comes_back_from_a_control_body(owner: int, lsn: int) -> None:
    ref = LimboRef(Replica(owner), Lsn(lsn))
    assert record.read_ref(chain([record.ref_body(ref)])[0]) == ref


def test_a_body_of_another_length_holds_no_reference() -> None:
    with pytest.raises(RecordDamage, match="control entry 1 has no reference"):
        record.read_ref(chain([b"rows"])[0])


def test_the_flags_are_bits() -> None:
    assert Flags(record.WAIT_ACK | record.WAIT_SYNC) == Flags.WAIT_ACK | Flags.WAIT_SYNC
