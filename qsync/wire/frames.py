"""Bytes to frames and back: a length of four bytes, big endian, then one CBOR message.

Between members a frame is sealed: behind its length stand the CRC-32 of the message and the CRC-32
of these eight bytes. So a bit that was flipped on the way is found before anything is decoded, and
one in a length before anybody waits for what it promises.
"""

import struct

from qsync.checksum import crc32
from qsync.errors import ProtocolError, TooLarge
from qsync.wire import limits

LENGTH = struct.Struct(">I")
LENGTH_SIZE = LENGTH.size
_HEAD = struct.Struct(">II")
_SEAL = struct.Struct(">III")
SEAL_SIZE = _SEAL.size
"""Length, checksum of the payload, checksum of both."""


class Frames:
    """What one connection has received. Feed it everything; it hands back whole payloads.

    `bytes_max` may be changed between feeds: it is small until the handshake is over.
    """

    __slots__ = ("_need", "_rest", "_skip", "bytes_max")

    head_size = LENGTH_SIZE
    """Bytes before the payload; as many as are needed to know its length."""

    def __init__(self, bytes_max: int = limits.CLIENT_FRAME_BYTES_MAX) -> None:
        self.bytes_max = bytes_max
        self._rest = bytearray()
        self._need = self.head_size
        self._skip = 0

    @property
    def buffered(self) -> int:
        """Bytes of a frame that is not whole yet."""
        return len(self._rest)

    def feed(self, data: bytes) -> list[bytes]:
        """Take what was received, give the payloads that are whole now.

        Raises TooLarge or ProtocolError; the connection must be closed then.
        """
        if self._skip:
            left, self._skip = self._skip, max(0, self._skip - len(data))
            data = data[left:]
        if self._rest:
            self._rest += data
            if len(self._rest) < self._need:
                return []
            data = bytes(self._rest)
            self._rest.clear()
        return self._split(data)

    def skip(self) -> bytes:
        """Give up the frame that is not whole yet: its payload so far. The rest is dropped, too."""
        begun = bytes(self._rest[self.head_size :])
        if len(self._rest) >= self.head_size:
            self._skip = self._need - len(self._rest)
            self._rest = bytearray()
        return begun

    def _split(self, data: bytes) -> list[bytes]:
        payloads: list[bytes] = []
        at, end, size = 0, len(data), LENGTH_SIZE
        unpack, bytes_max = LENGTH.unpack_from, self.bytes_max
        need = size
        while end - at >= size:
            (length,) = unpack(data, at)
            if not 0 < length <= bytes_max:
                raise _bad_length(length, bytes_max)
            need = size + length
            stop = at + need
            if stop > end:
                break
            payloads.append(data[at + size : stop])
            at, need = stop, size
        if at < end:
            self._rest += data[at:] if at else data
        self._need = need
        return payloads


class SealedFrames(Frames):
    """Frames between members: nothing is handed back whose checksums do not hold."""

    __slots__ = ()

    head_size = SEAL_SIZE

    def _split(self, data: bytes) -> list[bytes]:
        payloads: list[bytes] = []
        at, end, need = 0, len(data), SEAL_SIZE
        while end - at >= SEAL_SIZE:
            length, crc, seal = _SEAL.unpack_from(data, at)
            begin = at + SEAL_SIZE
            if crc32(data[at : at + _HEAD.size]) != seal:
                raise ProtocolError("the checksum of a frame's length does not hold")
            if not 0 < length <= self.bytes_max:
                raise _bad_length(length, self.bytes_max)
            need = SEAL_SIZE + length
            if at + need > end:
                break
            payload = data[begin : at + need]
            if crc32(payload) != crc:
                raise ProtocolError(f"the checksum of a frame of {length} bytes does not hold")
            payloads.append(payload)
            at, need = at + need, SEAL_SIZE
        if at < end:
            self._rest += data[at:] if at else data
        self._need = need
        return payloads


def seal(*parts: bytes) -> bytes:
    """Return one payload, given in parts, framed as between members."""
    size = crc = 0
    for part in parts:
        size += len(part)
        crc = crc32(part, crc)
    head = _HEAD.pack(size, crc)
    return b"".join((head, LENGTH.pack(crc32(head)), *parts))


def frame(payload: bytes) -> bytes:
    """Return one payload, framed."""
    return LENGTH.pack(len(payload)) + payload


def _bad_length(length: int, bytes_max: int) -> ProtocolError | TooLarge:
    if length:
        return TooLarge(f"a frame of {length} bytes; the limit is {bytes_max}")
    return ProtocolError("a frame of no bytes")
