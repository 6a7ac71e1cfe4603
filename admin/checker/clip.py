"""Client values in messages, cut to a readable length: a key may be of any length."""

SHOWN_CHARS_MAX = 200
"""Longer values are cut in messages. Reports for programs contain the full operations."""


def clip(value: object) -> str:
    """Return a value's `repr`; a long one is cut, followed by its full length in characters."""
    text = repr(value)
    if len(text) <= SHOWN_CHARS_MAX:
        return text
    return f"{text[:SHOWN_CHARS_MAX]}... ({len(text):,} characters)"
