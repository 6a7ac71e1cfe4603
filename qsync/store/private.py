"""Directories into which no other user of the machine may look."""

import os
import stat
from pathlib import Path
from typing import Final

_OWNER_ONLY: Final = 0o700


def make_private(path: Path) -> None:
    """Make the directory, if it is not there. Raises OSError.

    That of a node holds every row, what passwords are checked by, and perhaps the cluster's secret.
    Of one that is there already everybody's rights are taken away, and those of its group stay,
    since somebody may have given them.
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
