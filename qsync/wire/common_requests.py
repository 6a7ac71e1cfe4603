"""The gets and writes that come all the time, read by hand in one pass.

A general decoder makes lists of objects that are looked at once more. Whatever is unusual is left
to it, so that there is one judge of what is wrong with a request.
"""

from typing import Final, final

from qsync.core.consistency import Consistency
from qsync.wire import cbor, limits
from qsync.wire.verbs import GetRequest, ReadLevel, Verb, WriteRequest

CONSISTENCIES: Final = (
    Consistency.LINEARIZABLE,
    Consistency.LEASE,
    Consistency.AT_LEAST,
    Consistency.LOCAL,
)
"""By their numbers on the wire."""
FLAGS_MAX: Final = 31

_LEVELS: Final = tuple(ReadLevel(consistency) for consistency in CONSISTENCIES)
_GET: Final = int(Verb.GET)
_WRITE: Final = int(Verb.WRITE)
_GET_HEAD: Final = cbor.ARRAY | 8
_WRITE_HEAD: Final = cbor.ARRAY | 10
_NEGATIVE: Final = 0x20
_BYTES: Final = 0x40
_TEXT: Final = 0x60
_ARRAY: Final = 0x80
_INLINE: Final = 24
"""Numbers below it stand in the first byte itself; so do those of the bytes behind it."""
_LONGEST: Final = 27


class _UnusualError(Exception):
    """Left to the general decoder."""


def decode_common(payload: bytes) -> GetRequest | WriteRequest | None:
    """The request, if it is a usual get or write; None leaves it to the general decoder."""
    first = payload[0] if payload else 0
    if first not in (_GET_HEAD, _WRITE_HEAD):
        return None
    try:
        reader = _PlainReader(payload)
        id, verb = reader.number(0), reader.number(0)
        if first == _GET_HEAD and verb == _GET:
            found: GetRequest | WriteRequest = _get(id, reader)
        elif first == _WRITE_HEAD and verb == _WRITE:
            found = _write(id, reader)
        else:
            return None
    except (_UnusualError, IndexError, UnicodeDecodeError):
        return None
    return found if reader.at == len(payload) else None


def _get(id: int, reader: "_PlainReader") -> GetRequest:
    space, by = reader.text(), reader.number(0)
    if not 0 < len(space) <= limits.SPACE_CHARS_MAX or by > limits.U32_MAX:
        raise _UnusualError
    key = reader.scalars()
    code = reader.number(0)
    # The terms and indexes of AT_LEAST are checked by the general decoder.
    if code >= len(_LEVELS) or reader.number(0) or reader.number(0):
        raise _UnusualError
    # What a named tuple's own `__new__` does, without the call of an interpreted function.
    return tuple.__new__(GetRequest, (id, space, by, key, _LEVELS[code]))


def _write(id: int, reader: "_PlainReader") -> WriteRequest:
    session = reader.raw()
    seq, low, flags = reader.number(0), reader.number(0), reader.number(0)
    if len(session) > limits.SESSION_BYTES_MAX or flags > FLAGS_MAX:
        raise _UnusualError
    ops = [reader.scalars() for _ in range(reader.few())]
    reader.nil()  # no timeout
    snapshot = reader.number(0)
    if reader.few():
        raise _UnusualError
    return tuple.__new__(
        WriteRequest, (id, session, seq, low, flags, ops, None, snapshot, list[list[object]]())
    )


@final
class _PlainReader:
    """Reads items from behind the first byte of a message, an array. Raises for all but the plain.

    `at`: where the next item begins.
    """

    __slots__ = ("_data", "at")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 1

    def number(self, major: int) -> int:
        """Return the number in the next head, which must be of this major type."""
        data, at = self._data, self.at
        small = data[at] - major
        if 0 <= small < _INLINE:
            self.at = at + 1
            return small
        if not _INLINE <= small <= _LONGEST:
            raise _UnusualError
        end = at + 1 + (1 << (small - _INLINE))
        if end > len(data):
            raise _UnusualError
        self.at = end
        return int.from_bytes(data[at + 1 : end], "big")

    def raw(self) -> bytes:
        """A byte string."""
        return self._piece(_BYTES)

    def text(self) -> str:
        """A text."""
        return self._piece(_TEXT).decode()

    def _piece(self, major: int) -> bytes:
        size = self.number(major)
        begin = self.at
        end = begin + size
        if end > len(self._data):
            raise _UnusualError
        self.at = end
        return self._data[begin:end]

    def nil(self) -> None:
        """Take a nil."""
        if self._data[self.at] != cbor.NIL:
            raise _UnusualError
        self.at += 1

    def few(self) -> int:
        """The head of an array of so few items that a byte says how many."""
        count = self._data[self.at] - _ARRAY
        if not 0 <= count < _INLINE:
            raise _UnusualError
        self.at += 1
        return count

    def scalars(self) -> list[object]:
        """An array of a few items without items of their own."""
        return [self._scalar() for _ in range(self.few())]

    def _scalar(self) -> object:
        first = self._data[self.at]
        if first < _NEGATIVE:
            return self.number(0)
        if first < _BYTES:
            return -1 - self.number(_NEGATIVE)
        if first < _TEXT:
            return self._piece(_BYTES)
        if first < _ARRAY:
            return self._piece(_TEXT).decode()
        if first not in _WORDS:
            raise _UnusualError
        self.at += 1
        return _WORDS[first]


_WORDS: Final[dict[int, bool | None]] = {cbor.FALSE: False, cbor.TRUE: True, cbor.NIL: None}
