"""Messages between replicas about their stored rows: where to compare, and the sums."""

import itertools
from dataclasses import dataclass
from typing import Final

import cbor2

from election.messages import Index, Term
from qsync.errors import ProtocolError
from qsync.wire import cbor, limits
from qsync.wire.frames import seal

SUMS: Final = 64
"""The type of the message; those of the log and of elections are below."""
GROUPS_MAX: Final = 4096
"""Spaces that are compared: of more only the first."""
GROUP_BYTES: Final = 4
_U8: Final = 0x18

Group = tuple[bytes, int, int, int]
"""The beginning of the keys, the number of rows, and two sums over their checksums."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerSums:
    """Leader to follower: stop folding at `index` and remember the sums there; or what mine are.

    `groups` is None in the first of the two messages, which precedes everything that could be
    confirmed above `index`, and in the order of the keys in the second.
    """

    term: Term
    index: Index
    groups: tuple[Group, ...] | None


def encode(message: PeerSums) -> bytes:
    """The message, framed and sealed."""
    groups = None if message.groups is None else [list(each) for each in message.groups]
    return seal(cbor2.dumps([SUMS, int(message.term), int(message.index), groups]))


def is_sums(payload: bytes) -> bool:
    """Return whether it is one of these, by the type behind the head of an array of four."""
    return payload[:3] == bytes((cbor.ARRAY | 4, _U8, SUMS))


def decode(payload: bytes) -> PeerSums:
    """The message in a payload. Raises ProtocolError."""
    fields = cbor.Fields(cbor.loads_array(payload), "sums of a peer")
    fields.uint()
    term, index = fields.led_term(), fields.index()
    if not fields.present():
        return PeerSums(term=term, index=index, groups=None)
    groups = tuple(map(_group, fields.array(GROUPS_MAX)))
    if any(one[0] >= other[0] for one, other in itertools.pairwise(groups)):
        raise ProtocolError("sums of a peer: the spaces are not in order")
    return PeerSums(term=term, index=index, groups=groups)


def _group(value: object) -> Group:
    if not isinstance(value, list):
        raise ProtocolError("sums of a peer: a space is not an array")
    fields = cbor.Fields(value, "sums of a space")
    name = fields.raw(GROUP_BYTES)
    return name, fields.uint(), fields.uint(limits.U64_MAX), fields.uint(limits.U64_MAX)
