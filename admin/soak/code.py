"""The version of the code of a result: one hash of all sources that a simulated run executes."""

import hashlib
from importlib.resources import files
from importlib.resources.abc import Traversable

_PACKAGES = ("election", "qsync", "admin.checker", "admin.evidence", "admin.soak")
_NOT_RUN = frozenset({"explore"})
"""Parts of qsync that a simulated run never executes."""


def version() -> str:
    """Return a hash that changes with any of these sources."""
    digest = hashlib.blake2b(digest_size=8)
    for package in _PACKAGES:
        _add(digest, files(package), package)
    return digest.hexdigest()


def _add(digest: "hashlib.blake2b", folder: Traversable, name: str) -> None:
    for entry in sorted(folder.iterdir(), key=lambda each: each.name):
        if entry.is_dir():
            if entry.name not in _NOT_RUN:
                _add(digest, entry, f"{name}/{entry.name}")
        elif entry.name.endswith(".py"):
            digest.update(f"{name}/{entry.name}\0".encode())
            digest.update(entry.read_bytes())
