"""Sums of stored rows as bytes between replicas, and whatever else comes in their place."""

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from election.messages import Index, Term
from qsync.errors import ProtocolError
from qsync.wire import peer_messages, peer_sums
from qsync.wire.frames import SealedFrames
from qsync.wire.peer_sums import GROUPS_MAX, SUMS, PeerSums

NUMBERS = st.integers(0, (1 << 64) - 1)
GROUPS = st.dictionaries(st.binary(max_size=4), st.tuples(NUMBERS, NUMBERS, NUMBERS), max_size=5)


def payload_of(message: PeerSums) -> bytes:
    (payload,) = SealedFrames().feed(peer_sums.encode(message))
    return payload


@given(st.integers(1, 1 << 62), st.integers(0, 1 << 62), st.none() | GROUPS)
def test_what_is_said_is_heard(
    term: int, index: int, groups: dict[bytes, tuple[int, int, int]] | None
) -> None:
    said = PeerSums(
        term=Term(term),
        index=Index(index),
        groups=None if groups is None else tuple((k, *v) for k, v in sorted(groups.items())),
    )
    payload = payload_of(said)
    assert peer_sums.is_sums(payload)
    assert peer_sums.decode(payload) == said


@given(st.binary(max_size=60))
def test_no_other_bytes_are_taken_for_sums_without_being_checked(rest: bytes) -> None:
    payload = bytes((0x84, 0x18, SUMS)) + rest
    try:
        heard = peer_sums.decode(payload)
    except ProtocolError:
        return
    assert peer_sums.decode(payload_of(heard)) == heard


@pytest.mark.parametrize(
    "groups",
    [
        [[b"b", 1, 1, 1], [b"a", 1, 1, 1]],
        [[b"a", 1, 1, 1], [b"a", 2, 2, 2]],
        [[b"five5", 1, 1, 1]],
        [[b"a", -1, 1, 1]],
        [[b"a", 1]],
        ["a"],
        [[b"%04d" % n, 1, 1, 1] for n in range(GROUPS_MAX + 1)],
    ],
)
def test_sums_that_make_no_sense_are_refused(groups: list[object]) -> None:
    with pytest.raises(ProtocolError):
        peer_sums.decode(cbor2.dumps([SUMS, 1, 1, groups]))


def test_they_are_no_message_of_the_log() -> None:
    payload = payload_of(PeerSums(term=Term(1), index=Index(1), groups=None))
    with pytest.raises(ProtocolError):
        peer_messages.decode(payload)
