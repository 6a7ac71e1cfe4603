"""The lines that were typed, in the file that the line editor of all shells keeps."""

from collections.abc import Iterator
from pathlib import Path

from admin.lab.names import home

HISTORY_FILE = "shell_history"
_LINE = "+"
"""What begins a line of an entry in the file; a comment with the time stands before each entry."""


def history_path() -> Path:
    """Return the path of the file with the typed lines."""
    return home().parent / HISTORY_FILE


def remembered() -> Iterator[str]:
    """Return the typed lines, the newest first, each once."""
    try:
        text = history_path().read_text("utf-8", errors="replace")
    except FileNotFoundError:
        return
    entries: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.startswith(_LINE):
            entries[-1].append(line.removeprefix(_LINE))
        elif entries[-1]:
            entries.append([])
    yield from dict.fromkeys("\n".join(each) for each in reversed(entries) if each)
