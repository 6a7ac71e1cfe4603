"""A command that writes a directory of its own wants a new or an empty one."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from admin.lab.failures import DirectoryNotEmpty

_SHOWN: Final = 5
"""Names of what is in the way."""


def check_new(directory: Path, *, hint: str, ignored: frozenset[str] = frozenset()) -> None:
    """Check that nothing but `ignored` is there, if it is there. Raises DirectoryNotEmpty.

    `hint`: what the operator may do instead.
    """
    if not directory.exists():
        return
    if not directory.is_dir():
        raise DirectoryNotEmpty(f"{directory} is a file, and no directory", hint=hint)
    found = sorted(each.name for each in directory.iterdir() if each.name not in ignored)
    if found:
        names = ", ".join(found[:_SHOWN])
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise DirectoryNotEmpty(f"{directory} is not empty: it holds {names}{more}", hint=hint)


@contextmanager
def made(directory: Path) -> Iterator[None]:
    """Make a directory. If an error comes before anything is in it, it is removed again."""
    new = not directory.exists()
    directory.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        if new:
            with suppress(OSError):  # it is not empty
                directory.rmdir()
        raise
