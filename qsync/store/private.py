"""Directories and files into which no other user of the machine may look."""

import os
import stat
import uuid
from pathlib import Path
from typing import Final

_OWNER_ONLY: Final = 0o700
FILE_OF_OWNER: Final = 0o600
FILE_OF_GROUP: Final = 0o660
FILE_OF_ALL: Final = 0o666
"""Both less what the umask takes away."""


def make_private(path: Path) -> None:
    """Make the directory, if it is not there. Raises OSError.

    That of a node holds every row, what passwords are checked by, and perhaps the cluster's secret.
    Of one that is there already everybody's rights are taken away, and those of its group stay,
    since an operator may have set them.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.mkdir(mode=_OWNER_ONLY)
    except FileExistsError:
        if not path.is_dir():
            raise
        found = path.stat()
        mode = stat.S_IMODE(found.st_mode)
        if mode & stat.S_IRWXO and found.st_uid == os.geteuid():
            path.chmod(mode & ~stat.S_IRWXO)


def write_private(path: Path, content: bytes, *, mode: int = FILE_OF_OWNER) -> None:
    """Write a file whole or not at all, at no time readable by more people than it is meant for.

    `mode`: who that is; its owner alone by default. A file that is there is replaced. Raises
    OSError.
    """
    replace_with(path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}"), path, content, mode=mode)


def replace_with(fresh: Path, path: Path, content: bytes, *, mode: int) -> None:
    """Write `fresh`, which is not there yet, and give it the name `path`.

    Raises OSError; nothing of `fresh` is left then. `mode`: less what the umask takes away.
    """
    opened = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(opened, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
