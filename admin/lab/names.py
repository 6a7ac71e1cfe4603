"""Labs by name: the names that there are, and the directory that each leads to."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from admin.lab.failures import LabExists
from qsync.errors import ConfigError
from qsync.options.member_names import MEMBER_NAME, NAME_CHARS_MAX
from qsync.store.unfinished import is_unfinished

DEFAULT_NAME: Final = "lab"
STATE_FILE: Final = "lab.json"
"""Written last: a directory with it is a lab."""

_HINT: Final = "give the lab another --name"


def home() -> Path:
    """Return the directory of labs that were created without a directory."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "qsync" / "labs"


def place(name: str = DEFAULT_NAME, directory: Path | None = None) -> Path:
    """Return the directory of a lab. Raises ConfigError for an invalid name."""
    if directory is not None:
        return directory.absolute()
    check_name(name)
    found = home() / name
    return found.resolve() if found.is_symlink() else found


def register(name: str, directory: Path) -> None:
    """Register a lab in another directory under its name. Raises LabExists, ConfigError."""
    link, there = home() / name, place(name)
    if there == directory.resolve():
        return
    link.parent.mkdir(parents=True, exist_ok=True)
    if link.is_symlink() and not exists(there):
        link.unlink(missing_ok=True)  # what it led to is gone
    try:
        link.symlink_to(directory.resolve(), target_is_directory=True)
    except FileExistsError:
        raise LabExists(
            f"there is another lab called {name}, in {place(name)}",
            hint="give this one another --name; `qsync lab list` shows all",
        ) from None


def unregister(directory: Path) -> None:
    """Take back every name that leads to this directory, unless a lab is there."""
    for link in () if exists(directory) else home().glob("*"):
        if link.is_symlink() and link.resolve() == directory.resolve():
            link.unlink()


def exists(directory: Path) -> bool:
    """Return whether a lab exists there, whole."""
    return (directory / STATE_FILE).is_file() and not is_unfinished(directory)


def known() -> Sequence[str]:
    """Return the labs with a name: those in the state directory, and registered ones."""
    if not home().is_dir():
        return []
    return sorted(path.name for path in home().iterdir() if exists(path))


def is_name(text: str) -> bool:
    """Return whether this is a valid name of a lab."""
    return MEMBER_NAME.fullmatch(text) is not None


def check_name(text: str, *, said: str = "--name") -> None:
    """Check a name of a lab. Raises ConfigError, which says that it was given as `said`."""
    if is_name(text):
        return
    if len(text) > NAME_CHARS_MAX and is_name(text[:NAME_CHARS_MAX]):
        long = f"has {len(text)} characters; the name of a lab has at most {NAME_CHARS_MAX}"
        raise ConfigError(f"{said} {text!r} {long}", hint=_HINT)
    rule = "letters, digits, dot, dash, underscore, the first a letter or a digit"
    raise ConfigError(f"{said} {text!r} is not a name: {rule}", hint=_HINT)
