"""A command that writes a directory of its own wants a new or an empty one."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from admin.lab.failures import DirectoryNotEmpty
from admin.lab.processes import clearing_up

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
def filled(*directories: Path) -> Iterator[None]:
    """Fill directories, new or not. If an error comes, what was put there is removed again.

    Not if a file is there already: then another command fills them at the same time.
    """
    before = {each: _names(each) for each in directories}
    try:
        yield
    except FileExistsError:
        raise
    except BaseException:
        with clearing_up():
            for each, names in before.items():
                _remove_new(each, names)
        raise


def _names(directory: Path) -> set[str] | None:
    return {each.name for each in directory.iterdir()} if directory.is_dir() else None


def _remove_new(directory: Path, former: set[str] | None) -> None:
    """Remove all but what was there; with None the directory, too."""
    if former is None:
        shutil.rmtree(directory, ignore_errors=True)
        return
    for each in directory.iterdir():
        if each.name in former:
            continue
        if each.is_dir() and not each.is_symlink():
            shutil.rmtree(each, ignore_errors=True)
        else:
            each.unlink(missing_ok=True)


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
