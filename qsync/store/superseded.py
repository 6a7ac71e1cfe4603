"""A directory whose history goes on elsewhere, in another cluster, starts no more (M8 e)."""

import json
from pathlib import Path
from typing import Final

from qsync.errors import Superseded
from qsync.store import faults
from qsync.store.environment import sync_directory, write_whole

FILE: Final = "superseded.json"


def supersede(path: Path, *, cluster: str, where: str) -> None:
    """Write down that the history goes on there; durable when this returns. Raises StoreError.

    `where`: its address, or the directory of its first member.
    """
    said = {"cluster": cluster, "where": where}
    try:
        write_whole(path / FILE, json.dumps(said).encode() + b"\n")
        sync_directory(path)
    except OSError as error:
        raise faults.typed(error, path) from error


def check(path: Path) -> None:
    """Raises Superseded when the history of this directory goes on elsewhere."""
    try:
        said = json.loads((path / FILE).read_text("utf-8"))
    except FileNotFoundError:
        return
    except (OSError, ValueError):
        said = {}
    if not isinstance(said, dict):
        said = {}
    where = said.get("where", said.get("directory", "another place"))
    raise Superseded(
        f"{path} was superseded: its history goes on in cluster {said.get('cluster', 'unknown')}, "
        f"at {where}",
        hint="`qsync log` and `qsync dump` read this one. To have this machine in the new cluster: "
        "`qsync init DIR --join TARGET` with an empty directory, start it, `qsync member add`",
    )
