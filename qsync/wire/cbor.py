"""CBOR at the border: decoding what strangers sent, and building heads by hand where it is hot."""

import struct
from collections.abc import Sequence
from typing import Final

import cbor2

from election.messages import Index, Replica, Term
from qsync.data import tags
from qsync.errors import ProtocolError
from qsync.wire import limits

ARRAY: Final = 0x80
U32: Final = 0x1A
U64: Final = 0x1B
FALSE: Final = 0xF4
TRUE: Final = 0xF5
NIL: Final = 0xF6
BYTES32: Final = 0x5A

_INLINE: Final = 24
_U8_MAX: Final = 0xFF
_U16_MAX: Final = 0xFFFF
_U8 = struct.Struct(">BB")
_U16 = struct.Struct(">BH")
_U32 = struct.Struct(">BI")
_U64 = struct.Struct(">BQ")

_MAJOR: Final = 0xE0
_LENGTHS: Final = {24: 1, 25: 2, 26: 4, 27: 8}
"""Of the low bits of a first byte: so many bytes behind it hold the number."""
MAJOR_BYTES: Final = 0x40
MAJOR_TEXT: Final = 0x60
MAJOR_ARRAY: Final = 0x80


class Fields:
    """The fields of one decoded message, read in order. Anything unexpected is a ProtocolError."""

    __slots__ = ("_at", "_values", "_what")

    def __init__(self, values: Sequence[object], what: str) -> None:
        self._values = values
        self._what = what
        self._at = 0

    def refused(self, wanted: str) -> ProtocolError:
        """Return the error: it names the message, the field's place and what was wanted there."""
        return ProtocolError(f"{self._what}: field {self._at} is not {wanted}")

    def any(self) -> object:
        """The next field, whatever it is."""
        if self._at < len(self._values):
            self._at += 1
            return self._values[self._at - 1]
        raise ProtocolError(f"{self._what}: {len(self._values)} fields are too few")

    def more(self) -> bool:
        """Whether there is another field."""
        return self._at < len(self._values)

    def present(self) -> bool:
        """Return whether there is another field that is not nil. A nil is skipped."""
        if self._at < len(self._values) and self._values[self._at] is not None:
            return True
        self._at += 1
        return False

    def uint(self, most: int = limits.U64_MAX) -> int:
        """An integer `0..most`; booleans are none."""
        value = self.any()
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most:
            return value
        raise self.refused(f"an integer 0..{most}")

    def flag(self) -> bool:
        """A boolean."""
        value = self.any()
        if isinstance(value, bool):
            return value
        raise self.refused("a boolean")

    def text(self, chars_max: int = limits.TEXT_CHARS_MAX) -> str:
        """A text of limited length."""
        value = self.any()
        if isinstance(value, str) and len(value) <= chars_max:
            return value
        raise self.refused(f"a text of at most {chars_max} characters")

    def text_or_none(self, chars_max: int = limits.TEXT_CHARS_MAX) -> str | None:
        """A text or nil."""
        return self.text(chars_max) if self.present() else None

    def raw(self, bytes_max: int = limits.FRAME_BYTES_MAX) -> bytes:
        """A byte string."""
        value = self.any()
        if isinstance(value, bytes) and len(value) <= bytes_max:
            return value
        raise self.refused(f"a byte string of at most {bytes_max} bytes")

    def array(self, items_max: int = limits.ROWS_MAX) -> list[object]:
        """An array of limited length."""
        value = self.any()
        if isinstance(value, list) and len(value) <= items_max:
            return value
        raise self.refused(f"an array of at most {items_max} items")

    def table(self) -> dict[str, object]:
        """A map whose keys are text."""
        value = self.any()
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return value
        raise self.refused("a map with text keys")

    def seconds(self) -> float:
        """A finite number of seconds, not negative."""
        value = self.any()
        if isinstance(value, bool):
            raise self.refused("a number of seconds")
        if isinstance(value, (int, float)) and 0 <= value <= limits.SECONDS_MAX:
            return float(value)
        raise self.refused("a number of seconds")

    def uint_or_none(self) -> int | None:
        """An integer from 0, or nil."""
        return self.uint() if self.present() else None

    def term(self) -> Term:
        """A term."""
        return Term(self.uint())

    def led_term(self) -> Term:
        """A term with a leader or a candidate: 0 is before the first election."""
        return led_term(self.uint())

    def index(self) -> Index:
        """An index."""
        return Index(self.uint())

    def replica(self) -> Replica:
        """A replica id, from 1."""
        value = self.uint(limits.REPLICA_MAX)
        if value:
            return Replica(value)
        raise self.refused("a replica id")


def led_term(number: int) -> Term:
    """Return the term of a leader or a vote. Raises ProtocolError for term 0, which has none."""
    if number:
        return Term(number)
    raise ProtocolError("term 0 has no leader and no votes")


def loads(payload: bytes) -> object:
    """Decode one message. Whatever the bytes are, nothing but ProtocolError is raised."""
    try:
        return tags.loads(payload, depth_max=limits.DEPTH_MAX)
    except (cbor2.CBORError, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise ProtocolError(f"not a message: {error.__cause__ or error}") from error


def loads_array(payload: bytes) -> list[object]:
    """Decode one message, which must be an array."""
    value = loads(payload)
    if isinstance(value, list):
        return value
    raise ProtocolError("not a message: no array")


def head(major: int, number: int) -> bytes:
    """The shortest CBOR head: `major` is one of the MAJOR constants (0 for an integer)."""
    if number < _INLINE:
        return bytes((major | number,))
    if number <= _U8_MAX:
        return _U8.pack(major | 24, number)
    if number <= _U16_MAX:
        return _U16.pack(major | 25, number)
    if number <= limits.U32_MAX:
        return _U32.pack(major | 26, number)
    return _U64.pack(major | 27, number)


def text(value: str) -> bytes:
    """A text, encoded."""
    raw = value.encode()
    return head(MAJOR_TEXT, len(raw)) + raw


def raw_or_nil(value: bytes | None) -> bytes:
    """A byte string or nil, encoded."""
    if value is None:
        return b"\xf6"
    return head(MAJOR_BYTES, len(value)) + value


def first_number(begun: bytes) -> int | None:
    """The first field of an array whose end is missing; None if it is not there, or no number."""
    if not begun or begun[0] & _MAJOR != MAJOR_ARRAY:
        return None
    at = 1 + _LENGTHS.get(begun[0] & ~_MAJOR, 0)
    if at >= len(begun) or begun[at] & _MAJOR:
        return None
    small = begun[at] & ~_MAJOR
    size = _LENGTHS.get(small, 0)
    number = begun[at + 1 : at + 1 + size]
    if len(number) < size:
        return None
    return int.from_bytes(number, "big") if size else small
