"""How big and how many: every bound of the wire protocol, by name."""

from typing import Final

FRAME_BYTES_MAX: Final = 64 * 1024 * 1024
"""One frame between replicas: an append batch and its envelope."""
CLIENT_FRAME_BYTES_MAX: Final = 16 * 1024 * 1024
"""One frame between a client and a node."""
ANSWER_BYTES_MAX: Final = 1056 * 1024 * 1024
"""One frame to a client that takes what any node may be configured to answer: the rows that a
transaction of the largest size has left."""
HANDSHAKE_BYTES_MAX: Final = 4 * 1024
"""One frame before the handshake is over, when the other side is still a stranger."""
RECEIVE_BYTES: Final = 96 * 1024
"""Asked of a socket in one call. From 128 KiB on the C library may map the memory of every call
again and give it back after it, which costs more than the call."""

VERSIONS: Final = (1,)
"""Protocol versions that this release speaks."""

DEPTH_MAX: Final = 64
"""Nesting of arrays and maps in one message."""
TEXT_CHARS_MAX: Final = 65_536
"""A text field of a message, such as the words of an error."""
REFUSAL_CHARS_MAX: Final = 500
"""The reason of a refusal in the handshake, and the hint: both fit into one frame."""
NAME_CHARS_MAX: Final = 255
"""A name in the handshake: node, user, feature, uuid."""
SPACE_CHARS_MAX: Final = 256
"""The name of a space or an index."""
FEATURES_MAX: Final = 64
"""Features or versions in a handshake."""
REPLICA_MAX: Final = 31
"""Highest replica id."""
SESSION_BYTES_MAX: Final = 64
"""A client session's id."""
OPS_MAX: Final = 65_536
"""Operations in one transaction."""
READS_MAX: Final = 65_536
"""Reads that one transaction asks to have validated."""
KEY_PARTS_MAX: Final = 255
"""Parts of a key."""
ROWS_MAX: Final = 1_000_000
"""Rows in the answer to one select."""

SECONDS_MAX: Final = 1e9
"""A timeout that a message may name."""
PAUSE_S_MAX: Final = 60.0
"""The longest pause that a node may ask for: that of logins that failed."""

U32_MAX: Final = 0xFFFF_FFFF
U64_MAX: Final = 0xFFFF_FFFF_FFFF_FFFF
