"""Just enough gRPC to ask etcd: HTTP/2 frames whose headers are constant, four messages by hand.

etcd's JSON gateway costs it several times what a request does, and a general gRPC library in
Python would hide the server behind its client. Headers are sent as literals that need no table
(RFC 7541, 6.2.2), and those of answers are not read: an answer without data is an error.
"""

from struct import Struct
from typing import Final

from tests.bench.peers.workloads import Operation, PeerFailed

_HEAD: Final = Struct(">BHBBI")
"""Length (of 24 bits), type, flags, stream: RFC 9113, 4.1."""
_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _GOAWAY, _WINDOW = 0, 1, 3, 4, 6, 7, 8
_END_STREAM, _ACK, _END_HEADERS = 1, 1, 4
_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_WINDOW_BYTES: Final = 65_535
_LARGE_WINDOW: Final = 1 << 30
_FRAME_BYTES: Final = 16_384
"""The largest frame that everybody takes (RFC 9113, 4.2)."""
_SETTING: Final = Struct(">HI")
_INITIAL_WINDOW: Final = 4
_KV: Final = b"/etcdserverpb.KV/"
_LEADER_FIELD, _HEADER_FIELD, _MEMBER_FIELD = 4, 1, 2


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    size = len(payload)
    return _HEAD.pack(size >> 16, size & 0xFFFF, kind, flags, stream) + payload


def _text(value: bytes) -> bytes:
    assert len(value) < 127
    return bytes([len(value)]) + value


def _headers(path: bytes) -> bytes:
    return (
        b"\x83\x86"  # :method POST, :scheme http
        b"\x04" + _text(path) + b"\x01" + _text(b"localhost")
        # content-type by its number, te by its name
        + b"\x0f\x10" + _text(b"application/grpc") + b"\x00" + _text(b"te") + _text(b"trailers")
    )  # fmt: skip


_PATHS: Final = {
    Operation.PUT: _headers(_KV + b"Put"),
    Operation.GET: _headers(_KV + b"Range"),
    Operation.TXN10: _headers(_KV + b"Txn"),
}
_STATUS: Final = _headers(b"/etcdserverpb.Maintenance/Status")


def varint(number: int) -> bytes:
    """As protobuf writes it."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number: int, value: bytes) -> bytes:
    """A field that holds bytes or a message."""
    return bytes([number << 3 | 2]) + varint(len(value)) + value


def fields(message: bytes) -> dict[int, int | bytes]:
    """The fields of a message by number; of several of one number, the last."""
    found: dict[int, int | bytes] = {}
    at = 0
    while at < len(message):
        key, at = _varint_at(message, at)
        number, at = _varint_at(message, at)
        if key & 7 == 0:
            found[key >> 3] = number
        else:
            found[key >> 3] = message[at : at + number]
            at += number
    return found


def _varint_at(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at


class _HeldMessage:
    """One that is not sent, or not to its end. `room`: what its stream has left."""

    def __init__(self, stream: int, headers: bytes, data: bytes, room: int) -> None:
        self.stream, self.data, self.room = stream, data, room
        self._headers = headers

    @property
    def piece(self) -> int:
        """The size of its next frame."""
        return min(len(self.data), _FRAME_BYTES)

    def take(self, room: int) -> tuple[bytes, int]:
        """Frames, as many as there is room for on the connection as well; and what is left."""
        frames = bytearray()
        while self.data and self.piece <= min(self.room, room):
            size = self.piece
            piece, self.data = self.data[:size], self.data[size:]
            frames += self._headers
            frames += _frame(_DATA, 0 if self.data else _END_STREAM, self.stream, piece)
            self._headers, self.room, room = b"", self.room - size, room - size
        return bytes(frames), room


class EtcdWire:
    """One connection to etcd, without a socket: `out` is to be sent."""

    def __init__(self) -> None:
        settings = _frame(_SETTINGS, 0, 0, Struct(">HI").pack(4, _LARGE_WINDOW))
        opened = _frame(_WINDOW, 0, 0, (_LARGE_WINDOW - _WINDOW_BYTES).to_bytes(4, "big"))
        self.out = bytearray(_PREFACE + settings + opened)
        self.last = b""
        """The data of the latest answer."""
        self._in = bytearray()
        self._stream = -1
        self._room = _WINDOW_BYTES
        self._stream_room = _WINDOW_BYTES
        """Of a stream that begins."""
        self._held: list[_HeldMessage] = []
        self._answered: set[int] = set()

    def ask(self, operation: Operation, keys: list[bytes], value: bytes) -> int:
        """One request; the id of its answer."""
        if operation is Operation.GET:
            message = field(1, keys[0])
        else:
            puts = [field(1, key) + field(2, value) for key in keys]
            message = puts[0]
            if operation is Operation.TXN10:
                message = b"".join(field(2, field(2, put)) for put in puts)
        return self._post(_PATHS[operation], message)

    def ask_status(self) -> int:
        """Who is this, and who leads?"""
        return self._post(_STATUS, b"")

    def leads(self) -> bool:
        """Does the latest answer, to a question of status, say that it leads itself?"""
        status = fields(self.last[5:])
        header = status.get(_HEADER_FIELD, b"")
        assert isinstance(header, bytes)
        return status.get(_LEADER_FIELD, 0) == fields(header).get(_MEMBER_FIELD)

    def feed(self, data: bytes) -> list[tuple[int, bool]]:
        """Ids that were answered, and whether they succeeded."""
        self._in += data
        done: list[tuple[int, bool]] = []
        at, end = 0, len(self._in)
        while end - at >= _HEAD.size:
            high, low, kind, flags, stream = _HEAD.unpack_from(self._in, at)
            after = at + _HEAD.size + (high << 16 | low)
            if after > end:
                break
            if kind == _DATA:
                self._answered.add(stream)
                self.last = bytes(self._in[at + _HEAD.size : after])
            elif kind != _HEADERS:
                self._control(kind, flags, stream, bytes(self._in[at + _HEAD.size : after]))
            if kind == _RESET or (kind in {_DATA, _HEADERS} and flags & _END_STREAM):
                done.append((stream, stream in self._answered))
                self._answered.discard(stream)
            at = after
        del self._in[:at]
        return done

    def _post(self, headers: bytes, message: bytes) -> int:
        self._stream += 2
        data = b"\x00" + len(message).to_bytes(4, "big") + message
        headers = _frame(_HEADERS, _END_HEADERS, self._stream, headers)
        if not self._held and len(data) <= min(self._room, _FRAME_BYTES):
            self._room -= len(data)
            self.out += headers + _frame(_DATA, _END_STREAM, self._stream, data)
        else:
            self._held.append(_HeldMessage(self._stream, headers, data, self._stream_room))
            self._release()
        return self._stream

    def _release(self) -> None:
        """Send what the server has room for: only data counts (RFC 9113, 5.2.1)."""
        for held in self._held:
            frames, self._room = held.take(self._room)
            self.out += frames
            if held.data and held.room >= held.piece:
                break  # the connection is full; else only that stream is
        self._held = [held for held in self._held if held.data]

    def _control(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        if kind == _SETTINGS and not flags & _ACK:
            for at in range(0, len(payload), _SETTING.size):
                name, value = _SETTING.unpack_from(payload, at)
                if name == _INITIAL_WINDOW:
                    for held in self._held:
                        held.room += value - self._stream_room
                    self._stream_room = value
            self.out += _frame(_SETTINGS, _ACK, 0, b"")
            self._release()
        elif kind == _PING and not flags & _ACK:
            self.out += _frame(_PING, _ACK, 0, payload)
        elif kind == _WINDOW:
            more = int.from_bytes(payload, "big")
            self._room += 0 if stream else more
            for held in self._held:
                held.room += more if held.stream == stream else 0
            self._release()
        elif kind == _GOAWAY:
            raise PeerFailed(f"etcd hangs up: {payload[8:]!r}")
