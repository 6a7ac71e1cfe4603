"""The checksum that an entry must have, from its columns: the body itself is not needed."""

import struct
import zlib

_HEAD = struct.Struct(">QQIQBBId")
"""The header of an entry up to its checksum; see the page about the record."""


def checksum(
    place: tuple[int, int, int, int, int, int], sealed: tuple[float, int, int], previous: int
) -> int:
    """`place`: index, term, origin, lsn, kind, flags. `sealed`: time, CRC and length of the body.

    A CRC is linear: over zeros in place of the body, and then the body's own is added.
    """
    time, body_crc, length = sealed
    zeros = bytes(length)
    head = zlib.crc32(_HEAD.pack(*place, length, time), previous)
    return zlib.crc32(zeros, head) ^ zlib.crc32(zeros) ^ body_crc
