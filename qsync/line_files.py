"""Files that grow by lines, such as timelines and audit trails: what stands at their end."""

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
