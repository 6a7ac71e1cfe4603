"""Files in which a soak keeps what it knows: tried before the work, and replaced whole."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from qsync.store.private import FILE_OF_ALL, write_private


def check_place(path: Path) -> None:
    """Raises OSError if the file could not be written: hours of work would be lost."""
    with _named(path):
        fresh = path.with_name(f"{path.name}.new")
        fresh.touch()
        fresh.unlink()


def replace_text(path: Path, text: str) -> None:
    """Write it whole or not at all. Raises OSError, which names this file."""
    with _named(path):
        write_private(path, text.encode(), mode=FILE_OF_ALL)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Let errors name this file, and not the fresh one beside it."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
