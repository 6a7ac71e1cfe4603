"""Values of clients in messages, cut to what can be read: a key may be of any length."""

SHOWN_CHARS_MAX = 200
"""What is longer is cut in messages. Reports for programs have the operations whole."""


def clip(value: object) -> str:
    """Return a value's `repr`, cut where it is long, with its whole length in characters."""
    text = repr(value)
    if len(text) <= SHOWN_CHARS_MAX:
        return text
    return f"{text[:SHOWN_CHARS_MAX]}... ({len(text):,} characters)"
