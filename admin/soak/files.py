"""Files in which a soak keeps what it knows: tried before the work, and replaced whole."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def check_place(path: Path) -> None:
    """Raises OSError if the file could not be written: hours of work would be lost."""
    with _fresh(path) as fresh:
        fresh.touch()


def replace_text(path: Path, text: str) -> None:
    """Write it whole or not at all. Raises OSError, which names this file."""
    with _fresh(path) as fresh:
        with fresh.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)


@contextmanager
def _fresh(path: Path) -> Iterator[Path]:
    """Give a file beside it, which goes unless it has got its name. Raises OSError."""
    fresh = path.with_name(f"{path.name}.new")
    try:
        yield fresh
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        if os.path.lexists(fresh):  # false also where nobody may look
            fresh.unlink()
