"""Bytes to frames and back: a length of four bytes, big endian, then one CBOR message."""

import struct

from qsync.errors import ProtocolError, TooLarge
from qsync.wire import limits

LENGTH = struct.Struct(">I")
LENGTH_SIZE = LENGTH.size


class Frames:
    """What one connection has received. Feed it everything; it hands back whole payloads.

    `bytes_max` may be changed between feeds: it is small until the handshake is over.
    """

    __slots__ = ("_need", "_rest", "bytes_max")

    def __init__(self, bytes_max: int = limits.CLIENT_FRAME_BYTES_MAX) -> None:
        self.bytes_max = bytes_max
        self._rest = bytearray()
        self._need = LENGTH_SIZE

    @property
    def buffered(self) -> int:
        """Bytes of a frame that is not whole yet."""
        return len(self._rest)

    def feed(self, data: bytes) -> list[bytes]:
        """Take what was received, give the payloads that are whole now.

        Raises TooLarge or ProtocolError; the connection must be closed then.
        """
        if self._rest:
            self._rest += data
            if len(self._rest) < self._need:
                return []
            data = bytes(self._rest)
            self._rest.clear()
        return self._split(data)

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


def frame(payload: bytes) -> bytes:
    """One payload, framed."""
    return LENGTH.pack(len(payload)) + payload


def _bad_length(length: int, bytes_max: int) -> ProtocolError | TooLarge:
    if length:
        return TooLarge(f"a frame of {length} bytes; the limit is {bytes_max}")
    return ProtocolError("a frame of no bytes")
