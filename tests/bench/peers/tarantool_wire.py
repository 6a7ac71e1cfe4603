"""Just enough of Tarantool's binary protocol to ask it: three requests, written by hand."""

from struct import Struct
from typing import Final

from tests.bench.peers.workloads import Operation

_GREETING_BYTES: Final = 128
_SIZE: Final = Struct(">BI")
_SHORT_MAX: Final = 31
_IPROTO: Final = {"select": 1, "replace": 3, "call": 10}
_ANSWER: Final = Struct(">BBBIBBQ")
"""A map; under 0 the code (32 bits), under 1 the id (64 bits): Tarantool writes both so."""
_SPACE: Final = b"\x10\xcd\x02\x00"
"""Number 512: the first that anybody makes."""


def _string(value: bytes) -> bytes:
    """Lua of that age has no other type for bytes."""
    head = [0xA0 | len(value)] if len(value) <= _SHORT_MAX else [0xD9, len(value)]
    return bytes(head) + value


def _packet(kind: str, id: int, body: bytes) -> bytes:
    payload = b"\x82\x00" + bytes([_IPROTO[kind]]) + b"\x01\xce" + id.to_bytes(4, "big") + body
    return b"\xce" + len(payload).to_bytes(4, "big") + payload


class TarantoolWire:
    """One connection to Tarantool, without a socket: `out` is to be sent."""

    def __init__(self) -> None:
        self.out = bytearray()
        self._in = bytearray()
        self._greeted = False
        self._id = 0

    def ask(self, operation: Operation, keys: list[bytes], value: bytes) -> int:
        """One request; the id of its answer."""
        self._id += 1
        if operation is Operation.PUT:
            body = b"\x82" + _SPACE + b"\x21\x92" + _string(keys[0]) + _string(value)
            self.out += _packet("replace", self._id, body)
        elif operation is Operation.GET:
            limits = b"\x11\x00\x12\x01\x13\x00\x14\x00"  # index 0, one row, from 0, equal
            body = b"\x86" + _SPACE + limits + b"\x20\x91" + _string(keys[0])
            self.out += _packet("select", self._id, body)
        else:
            rows = b"\xdc" + len(keys).to_bytes(2, "big") + b"".join(map(_string, keys))
            body = b"\x82\x22\xa4puts\x21\x92" + rows + _string(value)
            self.out += _packet("call", self._id, body)
        return self._id

    def feed(self, data: bytes) -> list[tuple[int, bool]]:
        """Ids that were answered, and whether they succeeded."""
        self._in += data
        done: list[tuple[int, bool]] = []
        at, end = 0, len(self._in)
        if not self._greeted:
            if end < _GREETING_BYTES:
                return done
            self._greeted, at = True, _GREETING_BYTES
        while end - at >= _SIZE.size:
            _, size = _SIZE.unpack_from(self._in, at)
            after = at + _SIZE.size + size
            if after > end:
                break
            _, _, _, code, _, _, id = _ANSWER.unpack_from(self._in, at + _SIZE.size)
            done.append((id, code == 0))
            at = after
        del self._in[:at]
        return done
