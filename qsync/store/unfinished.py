"""A directory that is being laid out, or was when its command was killed: no node starts there."""

from pathlib import Path
from typing import Final

from qsync.errors import ConfigError

NOTE: Final = "unfinished.json"
"""Stands there, or in the directory of the whole cluster, until all is in its place."""


def is_unfinished(path: Path) -> bool:
    """Does the command that lays it out not say yet that it is whole?"""
    try:
        return (path / NOTE).is_file()
    except OSError:
        return False  # who opens the directory says what is wrong with it


def check(path: Path) -> None:
    """Raises ConfigError when the directory of a node, or its cluster's around it, is not whole."""
    for each in (path, path.absolute().parent):
        if is_unfinished(each):
            raise ConfigError(
                f"{each} is not whole: the command that lays it out runs still, or was killed",
                hint="repeat that command (qsync init, qsync lab up), which starts again there",
            )
