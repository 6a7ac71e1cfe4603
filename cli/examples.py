"""Examples at the end of a command's help: commands to copy, each on a line of its own."""

_MARGIN = "  "


def examples(*lines: str) -> str:
    """An epilog. A line is a command; one that begins with `#` says what the next ones do."""
    body = "\n".join(f"{_MARGIN}{line}" for line in lines)
    return f"\b\nExamples:\n{body}"
