"""CBOR tags from outside that are refused or bounded: they make cycles, programs or monsters."""

from typing import Final, NoReturn

BIGNUM_BYTES_MAX: Final = 128
"""Of an integer beyond 64 bits. Longer ones could not even be written into an error message."""
_POSITIVE, _NEGATIVE = 2, 3


def _refused(_content: object, _immutable: bool) -> NoReturn:  # noqa: FBT001 - cbor2 calls it so
    raise ValueError("this tag is not allowed")


def _positive(content: object, _immutable: bool) -> int:  # noqa: FBT001 - cbor2 calls it so
    if isinstance(content, bytes) and len(content) <= BIGNUM_BYTES_MAX:
        return int.from_bytes(content, "big")
    raise ValueError(f"an integer has at most {BIGNUM_BYTES_MAX} bytes")


def _negative(content: object, immutable: bool) -> int:  # noqa: FBT001 - cbor2 calls it so
    return -1 - _positive(content, immutable)


# 28, 29: shared references can make cycles. 35, 36: regular expressions and MIME parts are parsed
# at a price.
DECODERS: Final = {
    _POSITIVE: _positive,
    _NEGATIVE: _negative,
    **dict.fromkeys((28, 29, 35, 36), _refused),
}
"""For `semantic_decoders` of every decoder that reads what strangers sent."""
