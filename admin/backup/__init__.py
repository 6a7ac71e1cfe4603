"""Backups: snapshots and the log behind them, kept where nodes are not, and restored from there."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from admin.backup.backups import Backups, ListedBackup

__all__ = ["Backups", "ListedBackup"]


def __getattr__(name: str) -> object:
    """Load a name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module 'admin.backup' has no attribute {name!r}")
    value: object = getattr(importlib.import_module("admin.backup.backups"), name)
    globals()[name] = value
    return value
