"""Frames survive any cutting of the stream, and nothing but typed errors comes of bad ones."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qsync.errors import ProtocolError, TooLarge
from qsync.wire import limits
from qsync.wire.frames import SEAL_SIZE, Frames, SealedFrames, frame, seal

payloads = st.lists(st.binary(min_size=1, max_size=200), max_size=20)


@given(payloads, st.lists(st.integers(0, 5000), max_size=30))
def test_frames_come_out_whole_however_the_stream_is_cut(
    wanted: list[bytes], cuts: list[int]
) -> None:
    stream = b"".join(frame(payload) for payload in wanted)
    places = sorted({min(cut, len(stream)) for cut in cuts} | {0, len(stream)})
    frames = Frames()
    got: list[bytes] = []
    for first, last in itertools.pairwise(places):
        got += frames.feed(stream[first:last])
    assert got == wanted
    assert frames.buffered == 0


def test_a_stream_fed_byte_by_byte_gives_the_same_frames() -> None:
    frames = Frames()
    stream = frame(b"one") + frame(b"two")
    assert [p for at in range(len(stream)) for p in frames.feed(stream[at : at + 1])] == [
        b"one",
        b"two",
    ]


def test_a_frame_at_the_limit_passes_and_one_above_is_refused_before_it_is_received() -> None:
    frames = Frames(bytes_max=10)
    assert frames.feed(frame(b"0123456789")) == [b"0123456789"]
    with pytest.raises(TooLarge, match="11 bytes; the limit is 10"):
        frames.feed(frame(b"0123456789x")[:4])


def test_an_empty_frame_is_a_protocol_error() -> None:
    with pytest.raises(ProtocolError):
        Frames().feed(b"\0\0\0\0")


@given(st.lists(st.binary(max_size=50), max_size=20))
def test_garbage_never_raises_anything_untyped(chunks: list[bytes]) -> None:
    frames = Frames(bytes_max=1000)
    try:
        for chunk in chunks:
            frames.feed(chunk)
    except (ProtocolError, TooLarge):
        pass


def test_the_limit_may_grow_when_the_handshake_is_over() -> None:
    frames = Frames(bytes_max=4)
    assert frames.feed(frame(b"abcd")) == [b"abcd"]
    frames.bytes_max = 100
    assert frames.feed(frame(b"x" * 100)) == [b"x" * 100]


@given(payloads, st.lists(st.integers(0, 5000), max_size=30))
def test_sealed_frames_come_out_whole_however_the_stream_is_cut(
    wanted: list[bytes], cuts: list[int]
) -> None:
    stream = b"".join(seal(payload[:3], payload[3:]) for payload in wanted)
    places = sorted({min(cut, len(stream)) for cut in cuts} | {0, len(stream)})
    frames = SealedFrames()
    got: list[bytes] = []
    for first, last in itertools.pairwise(places):
        got += frames.feed(stream[first:last])
    assert got == wanted
    assert frames.buffered == 0


def test_a_length_is_not_believed_before_its_own_checksum_holds() -> None:
    whole = bytearray(seal(b"x" * 20))
    whole[0] ^= 0x02  # 32 MiB more
    frames = SealedFrames(limits.FRAME_BYTES_MAX)
    with pytest.raises(ProtocolError, match="length does not hold"):
        frames.feed(bytes(whole[:SEAL_SIZE]))


def test_a_sealed_payload_that_was_changed_is_never_handed_back() -> None:
    whole = bytearray(seal(b"x" * 20))
    whole[-1] ^= 1
    with pytest.raises(ProtocolError, match="20 bytes does not hold"):
        SealedFrames().feed(bytes(whole))
