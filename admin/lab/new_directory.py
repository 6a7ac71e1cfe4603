"""A command that writes a directory of its own wants a new or an empty one."""

import fcntl
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TextIO, TypeAlias

from admin.lab.failures import DirectoryNotEmpty
from admin.lab.processes import clearing_up
from qsync.disk_errors import naming
from qsync.errors import DirectoryLocked
from qsync.store.private import make_private
from qsync.store.unfinished import NOTE

_SHOWN: Final = 5
"""Names of what is in the way."""
_ABOUT: Final = (
    "what is not listed here is of a command that lays this directory out; if that was killed, the "
    "same command removes it and starts again"
)
_NODE: Final = re.compile(r"n[0-9]+")
"""The directory of a node inside of that of its cluster."""
_Before: TypeAlias = dict[str, set[str] | None]
"""What was in the directory, called `.`, and in those of nodes; None: it was not there."""


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
def run_directory(keep: Path | None, *, of: str) -> Iterator[Path]:
    """The directory of a run: the new one `keep`, or without it one that is removed at the end.

    `of`: what runs, for its name. Raises DirectoryNotEmpty.
    """
    if keep is not None:
        check_new(keep, hint="name a new directory with --keep")
        keep.mkdir(parents=True, exist_ok=True)
        yield keep.absolute()
        return
    made = Path(tempfile.mkdtemp(prefix=f"qsync-{of}-"))
    try:
        yield made
    finally:
        with clearing_up():
            shutil.rmtree(made, ignore_errors=True)


@contextmanager
def filled(directory: Path, *inside: Path) -> Iterator[None]:
    """Fill a directory, new or not, and those of nodes in it: wholly, or not at all.

    If an error comes, what was put there is removed again; not if a file is there already, which
    another command has put there. What a command that was killed left is removed first: until all
    is in its place a note in the directory tells what was there before. Raises DirectoryLocked
    while another command fills it.
    """
    new = not directory.exists()
    if inside:
        directory.mkdir(parents=True, exist_ok=True)
    elif new:
        make_private(directory)
    with naming(directory), _locked(directory) as file:
        left = _left(file)
        _undo(directory, left)
        before = {".": _names(directory), **{each.name: _names(each) for each in inside}, **left}
        if new and not before["."]:
            before["."] = None
        _note(directory, file, before)
        try:
            yield
        except FileExistsError:
            (directory / NOTE).unlink()
            raise
        except BaseException:
            with clearing_up():
                _undo(directory, before)
                _end(directory, new=before["."] is None)
            raise
        (directory / NOTE).unlink()
        _sync(directory)  # a note that came back would let a later command remove all of it


@contextmanager
def _locked(directory: Path) -> Iterator[TextIO]:
    """The note, which is this command's until the block ends."""
    while True:
        with (directory / NOTE).open("a+", encoding="utf-8") as file:
            lock_file(file, f"{directory} is being laid out by another command")
            if os.fstat(file.fileno()).st_nlink:  # else that other one has ended just now
                yield file
                return


def lock_file(file: TextIO, taken: str) -> None:
    """Lock a file of a directory that is being filled. Raises DirectoryLocked with these words."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        hint = "wait for its end, or name another directory"
        raise DirectoryLocked(taken, hint=hint) from None


def _left(file: TextIO) -> _Before:
    """The names that were there before a killed command, as its note has them; none without one."""
    file.seek(0)
    try:
        found = json.load(file)["before"]
    except (ValueError, KeyError, TypeError):
        return {}  # a note that was not written to its end
    return {
        name: None if names is None else set(names)
        for name, names in found.items()
        if name == "." or _NODE.fullmatch(name)  # nothing elsewhere, whoever wrote the note
    }


def _note(directory: Path, file: TextIO, before: _Before) -> None:
    told = {name: None if names is None else sorted(names) for name, names in before.items()}
    file.truncate(0)
    json.dump({"about": _ABOUT, "before": told}, file)
    file.flush()
    os.fsync(file.fileno())
    _sync(directory)


def _sync(directory: Path) -> None:
    from qsync.store.environment import sync_directory  # noqa: PLC0415 - who looks needs no LMDB

    sync_directory(directory)


def _undo(directory: Path, before: _Before) -> None:
    """Remove everything that was not there before, except the note."""
    for name, names in before.items():
        place = directory / name
        if names is None and place != directory:
            shutil.rmtree(place, ignore_errors=True)
        elif place.is_dir():
            _remove_new(place, {*(names or ()), NOTE})


def _end(directory: Path, *, new: bool) -> None:
    (directory / NOTE).unlink()
    if new:
        with suppress(OSError):  # something came into it
            directory.rmdir()


def _names(directory: Path) -> set[str] | None:
    """The names in a directory, without the note; None if there is no directory."""
    if not directory.is_dir():
        return None
    return {each.name for each in directory.iterdir() if each.name != NOTE}


def _remove_new(directory: Path, former: set[str]) -> None:
    """Remove everything except the former names."""
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
