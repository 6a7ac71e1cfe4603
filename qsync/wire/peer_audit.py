"""What replicas tell each other of their audit trails: how many lines there are, and a hash."""

from typing import Final

import cbor2

from qsync.audit import AuditHead
from qsync.errors import ProtocolError
from qsync.wire import cbor
from qsync.wire.frames import seal

AUDIT_HEAD: Final = 67
"""The type of the message; 64 to 66 are those of sums and snapshots."""
HASH_BYTES: Final = 32
_U8: Final = 0x18


def encode(head: AuditHead) -> bytes:
    """The message, framed and sealed."""
    return seal(cbor2.dumps([AUDIT_HEAD, head.number, bytes.fromhex(head.hash)]))


def is_head(payload: bytes) -> bool:
    """Is it one of these? Their type stands behind the head of an array of three."""
    return payload[:3] == bytes((cbor.ARRAY | 3, _U8, AUDIT_HEAD))


def decode(payload: bytes) -> AuditHead:
    """The message in a payload. Raises ProtocolError."""
    fields = cbor.Fields(cbor.loads_array(payload), "the head of a peer's audit trail")
    fields.uint()
    number, digest = fields.uint(), fields.raw(HASH_BYTES)
    if not number or len(digest) != HASH_BYTES:
        raise ProtocolError("the head of a peer's audit trail is none")
    return AuditHead(number, digest.hex())
