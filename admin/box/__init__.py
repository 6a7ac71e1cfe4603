"""`box`: administers a cluster with Tarantool's names, from any node (docs/reference/box.md)."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from admin.box.inline import drive, open_inline
    from admin.box.opening import open_box
    from admin.box.session import Box
    from qsync.status.record import BoxInfo

__all__ = ["Box", "BoxInfo", "drive", "open_box", "open_inline"]

_HOMES = {
    "Box": "admin.box.session",
    "BoxInfo": "qsync.status.record",
    "drive": "admin.box.inline",
    "open_box": "admin.box.opening",
    "open_inline": "admin.box.inline",
}


def __getattr__(name: str) -> object:
    """Load a name when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module 'admin.box' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
