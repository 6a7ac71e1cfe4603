"""`box`: a cluster in the field's words, over the wire from any node (docs/reference/box.md)."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from admin.box.info import Info
    from admin.box.session import Box, open_box

__all__ = ["Box", "Info", "open_box"]

_HOMES = {"Box": "session", "Info": "info", "open_box": "session"}


def __getattr__(name: str) -> object:
    """Load a name when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module 'admin.box' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"admin.box.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
