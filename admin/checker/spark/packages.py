"""Our packages as one zip, for Spark executors on machines without an installation."""

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKAGES = ("election", "qsync", "admin")
"""The packages that executors need; the terminal is left out."""
NAME = "qsync-packages.zip"
_OLDEST = (1980, 1, 1, 0, 0, 0)


def pack(folder: Path) -> Path:
    """Write the zip into a folder. The same sources give the same bytes."""
    root = Path(__file__).parents[3]
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / NAME
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        for package in PACKAGES:
            for path in sorted((root / package).rglob("*.py")):
                member = zipfile.ZipInfo(path.relative_to(root).as_posix(), _OLDEST)
                member.compress_type = zipfile.ZIP_DEFLATED
                zipped.writestr(member, path.read_bytes())
    return archive


def is_connected(session: "SparkSession") -> bool:
    """Whether the session is of Connect, which has neither Java nor a context in this process."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def ship(session: "SparkSession", folder: Path, *, connected: bool) -> None:
    """Every executor, and the server behind Connect, imports from the zip."""
    archive = str(pack(folder))
    if connected:
        session.addArtifacts(archive, pyfile=True)
    else:
        session.sparkContext.addPyFile(archive)
