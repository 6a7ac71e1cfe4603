"""The files by which the directory of a node is known."""

from pathlib import Path
from typing import Final

CONFIG_FILE: Final = "node.yaml"
"""The configuration. It is written last: `qsync start` never starts what is half laid out."""
IDENTITY: Final = "identity.json"
"""Whose directory it is; written when a node is founded in it, or first runs in it."""
UNREADY: Final = "restoring"
"""There before anything else is: a directory with it, and without `CONFIG_FILE`, is begun again."""


def is_node_directory(path: Path) -> bool:
    """Return whether this is the directory of a node, running or not."""
    return (path / IDENTITY).is_file()
