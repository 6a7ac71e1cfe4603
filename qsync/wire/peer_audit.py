"""Messages between replicas about their audit trails: the number of lines, and a hash."""

from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerAudit:
    """The head of the sender's trail, and the one that it found when its life began."""

    head: AuditHead
    begun: AuditHead


def encode(message: PeerAudit) -> bytes:
    """The message, framed and sealed."""
    heads = (message.head, message.begun)
    fields = [part for head in heads for part in (head.number, bytes.fromhex(head.hash))]
    return seal(cbor2.dumps([AUDIT_HEAD, *fields]))


def is_head(payload: bytes) -> bool:
    """Return whether it is one of these, by the type behind the head of an array of five."""
    return payload[:3] == bytes((cbor.ARRAY | 5, _U8, AUDIT_HEAD))


def decode(payload: bytes) -> PeerAudit:
    """The message in a payload. Raises ProtocolError."""
    fields = cbor.Fields(cbor.loads_array(payload), "the head of a peer's audit trail")
    fields.uint()
    head, begun = _head(fields), _head(fields)
    if not begun.number <= head.number > 0:
        raise ProtocolError("this is not the head of an audit trail")
    return PeerAudit(head=head, begun=begun)


def _head(fields: cbor.Fields) -> AuditHead:
    number, digest = fields.uint(), fields.raw(HASH_BYTES)
    if len(digest) != HASH_BYTES:
        raise ProtocolError("the head of a peer's audit trail has no hash")
    return AuditHead(number, digest.hex())
