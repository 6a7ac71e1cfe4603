"""A directory whose history goes on elsewhere, in another cluster, starts no more (M8 e)."""

import json
from pathlib import Path
from typing import Final

from qsync.errors import ConfigError
from qsync.store import faults
from qsync.store.environment import write_whole

FILE: Final = "superseded.json"


class Superseded(ConfigError):
    """The history of this directory goes on in another cluster; it is kept for a post-mortem."""

    code = "SUPERSEDED"
    number = 110


def supersede(path: Path, *, cluster: str, directory: Path) -> None:
    """Write down that the history goes on there; durable when this returns. Raises StoreError."""
    told = {"cluster": cluster, "directory": str(directory)}
    try:
        write_whole(path / FILE, json.dumps(told).encode() + b"\n")
    except OSError as error:
        raise faults.typed(error, path) from error


def check(path: Path) -> None:
    """Raises Superseded when the history of this directory goes on elsewhere."""
    try:
        told = json.loads((path / FILE).read_text("utf-8"))
    except FileNotFoundError:
        return
    except (OSError, ValueError):
        told = {}
    raise Superseded(
        f"{path} was superseded: its history goes on in cluster {told.get('cluster', 'unknown')}, "
        f"made in {told.get('directory', 'another directory')}",
        hint="start that one; `qsync log` and `qsync dump` read this one, and an empty directory "
        "joins the new cluster with `qsync init --join`",
    )
