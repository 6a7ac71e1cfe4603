"""Files that grow by lines, such as timelines and audit trails: what stands at their end."""

import json
from pathlib import Path


def last_lines(path: Path, *, bytes_max: int) -> list[str]:
    """The whole lines among the last bytes of a file, in its order. Raises OSError.

    A line that a crash cut short is among them, for the reader to recognise.
    """
    with path.open("rb") as file:
        size = file.seek(0, 2)
        begin = max(0, size - bytes_max)
        file.seek(begin)
        lines = file.read().decode(errors="replace").split("\n")
    return [line for line in lines[begin > 0 :] if line]


def object_of(line: str) -> dict[str, object] | None:
    """The JSON object of a line; None for a line that a crash or a full disk cut short."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def append_line(path: Path, line: str) -> None:
    """Append a line, on a line of its own if the last one was cut short. Raises OSError."""
    with path.open("a+b") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 1))
        begin = "\n" if file.read(1) not in {b"", b"\n"} else ""
        file.write(f"{begin}{line}\n".encode())
