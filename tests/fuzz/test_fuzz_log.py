"""No change to what is stored goes unnoticed, and no bytes on a disk end the process."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from election.messages import Ballot, Index, Replica, Term
from qsync import record
from qsync.data import body
from qsync.errors import ConfigError, Damaged, WrongFormat
from qsync.record import RecordDamage
from qsync.store import archive, chain, meta, recovery
from qsync.store.contract import NO_BALLOT, Tail
from qsync.store.directory import Directory
from tests.fuzz.hostile import BOMBS, bent, dumps
from tests.unit.logs import ME
from tests.unit.logs import chain as entries_of

U64 = st.integers(0, 2**64 - 1)
BODIES = st.lists(st.binary(max_size=30), min_size=1, max_size=6)
BATCHES = BODIES.map(lambda bodies: record.encode(entries_of(bodies)))


def rows(batch: bytes, cuts: list[int]) -> list[chain.Row]:
    """The entries of a batch as several records."""
    made = record.decode(batch)
    places = sorted({cut % len(made) for cut in cuts} | {0})
    parts = [made[at:to] for at, to in zip(places, [*places[1:], len(made)], strict=True)]
    return [(part[0].index, record.encode(part)) for part in parts]


def flipped(data: bytes, bit: int) -> bytes:
    at = bit % (len(data) * 8)
    return data[: at // 8] + bytes((data[at // 8] ^ 1 << at % 8,)) + data[at // 8 + 1 :]


# --------------------------------------------------------------------------------------- records


@given(st.one_of(st.binary(max_size=200), bent(BATCHES)))
def test_bytes_are_a_verified_batch_or_damage(batch: bytes) -> None:
    with contextlib.suppress(RecordDamage):
        made = record.decode(batch, previous=record.CHAIN_SEED)
        assert record.encode(made) == batch
        crc = record.CHAIN_SEED
        for entry in made:
            again = record.make(
                index=entry.index, term=entry.term, origin=entry.origin, lsn=entry.lsn,
                kind=entry.kind, flags=entry.flags, time=entry.time, body=entry.body, previous=crc,
            )  # fmt: skip
            assert again.raw == entry.raw
            crc = entry.crc
    assert len(list(record.headers(batch))) <= len(batch) // record.HEADER_SIZE


@given(BATCHES, st.lists(st.integers(0, 9)), st.integers(0), st.integers(0))
def test_a_flipped_bit_in_a_stored_log_is_noticed_and_all_before_it_holds(
    batch: bytes, cuts: list[int], where: int, bit: int
) -> None:
    stored = rows(batch, cuts)
    whole = chain.verify(stored)
    assert whole.fault is None
    at = where % len(stored)
    first, data = stored[at]
    found = chain.verify([*stored[:at], (first, flipped(data, bit)), *stored[at + 1 :]])
    assert found.fault is not None
    assert first - 1 <= found.last < whole.last
    assert found.crc == (record.decode(batch)[found.last - 1].crc if found.last else 0)
    # At or below the durable mark that is damage; above it the tail was never acked.
    numbers = meta.pack(BALLOT, confirmed=0, durable=whole.last, crc=whole.crc)
    assert recovery.judge(numbers, found).quarantined is not None
    below = meta.pack(BALLOT, confirmed=0, durable=found.last, crc=found.crc)
    assert recovery.judge(below, found).torn


BALLOT = Ballot(term=Term(3), vote=Replica(2), member=True)


@given(
    stored=st.one_of(st.none(), st.binary(max_size=50)),
    batch=BATCHES,
    bit=st.integers(0),
    nearly=st.booleans(),
)
def test_a_log_whose_numbers_do_not_verify_lends_no_ballot_and_drops_nothing(
    stored: bytes | None, batch: bytes, bit: int, *, nearly: bool
) -> None:
    found = chain.verify([(1, batch)])
    good = meta.pack(BALLOT, confirmed=1, durable=found.last, crc=found.crc)
    if nearly:
        stored = flipped(good, bit)
    judged = recovery.judge(stored, found)
    assert (judged.quarantined is not None, judged.untrusted, judged.torn) == (True, True, False)
    # Its term and vote are lost, so it goes on as another instance, which has none to keep.
    anew = recovery.begin_anew(judged.numbers.ballot, untrusted=judged.untrusted)
    assert (anew.ballot, anew.confirmed, anew.entries) == (NO_BALLOT, 0, [])
    whole = recovery.judge(good, found)
    assert (whole.quarantined, whole.untrusted, whole.numbers.ballot) == (None, False, BALLOT)


@given(U64, st.none() | st.integers(1, 31), st.booleans(), U64, U64, st.integers(0, 2**32 - 1))
def test_the_numbers_come_back_as_they_were(
    term: int, vote: int | None, member: bool, confirmed: int, durable: int, crc: int
) -> None:
    ballot = Ballot(term=Term(term), vote=None if vote is None else Replica(vote), member=member)
    packed = meta.pack(ballot, confirmed=confirmed, durable=durable, crc=crc)
    found = meta.unpack(packed)
    assert found is not None
    assert (found.ballot, found.confirmed, found.durable) == (ballot, confirmed, durable)
    assert found.crc == crc


TAILS = st.builds(
    Tail,
    number=st.just(4),
    first=U64.map(Index),
    last=U64.map(Index),
    term=U64.map(Term),
    time=st.floats(allow_nan=False),
    reason=st.text(max_size=9),
    raw=st.binary(max_size=9),
    answered=st.integers(0, 2**40),
)
NUL_IN_A_REASON = Tail(
    number=4,
    first=Index(1),
    last=Index(2),
    term=Term(3),
    time=0.0,
    reason="\0",
    raw=b"",
    answered=5,
)


@given(TAILS, st.one_of(st.binary(max_size=60), bent(TAILS.map(archive.pack))))
@example(NUL_IN_A_REASON, b"")
def test_archived_bytes_are_a_tail_or_damage(tail: Tail, stored: bytes) -> None:
    assert archive.unpack(4, archive.pack(tail)) == tail
    with contextlib.suppress(Damaged):
        archive.unpack(4, stored)


EFFECTS = st.lists(
    st.tuples(st.integers(0, 2**31), st.binary(max_size=5), st.none() | st.binary(max_size=5)),
    max_size=3,
)
TXNS = st.tuples(st.binary(max_size=4), U64, U64, EFFECTS).map(
    lambda parts: dumps([*parts[:3], [list(each) for each in parts[3]]])
)


@given(st.lists(st.one_of(TXNS, bent(TXNS), st.binary(max_size=20), BOMBS), max_size=4))
@example([b""])
@example([b"\x01", b"\x02\x03"])
@example([b"\x84\x40\x00\x00", b"\x80"])
def test_bodies_of_the_log_are_read_or_are_damage(bodies: list[bytes]) -> None:
    with contextlib.suppress(Damaged):
        found = body.decode_all(bodies)
        assert len(found) == len(bodies)
        assert all(isinstance(each, list) for each in found)


# --------------------------------------------------------------------------------- the directory

GOOD = '{"format": 1, "cluster": "c-1", "instance": "i-1", "replica": 1, "name": "n1"}'


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="qsync-test-") as path:
        yield Path(path)


@given(st.one_of(st.binary(max_size=80), bent(st.just(GOOD.encode()))))
@example(b'{"format": 1, "cluster": "c-1", "instance": "i-1", "replica": Infinity, "name": "n1"}')
@example(b"[" * 100_000)
@example(b'{"format": 1, "replica": ' + b"9" * 5000 + b"}")
def test_an_identity_file_is_ours_or_is_refused(place: Path, content: bytes) -> None:
    (place / "identity.json").write_bytes(content)
    with contextlib.suppress(WrongFormat, ConfigError), Directory(place, wanted=ME) as directory:
        assert directory.identity == ME
