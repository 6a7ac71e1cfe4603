"""Checksums of files: damage by a disk must not look like a fault of nodes."""

from pathlib import Path

from admin.evidence.manifest import AGAIN, NoEvidence
from qsync.checksum import crc32

CHUNK_BYTES = 1 << 20
"""Read at a time."""


def of(path: Path) -> dict[str, int]:
    """Return what the manifest keeps of a file: its size, and the CRC-32 of all of it."""
    crc, size = 0, 0
    with path.open("rb") as file:
        while some := file.read(CHUNK_BYTES):
            crc = crc32(some, crc)
            size += len(some)
    return {"size": size, "crc": crc}


def check(path: Path, wanted: dict[str, int]) -> None:
    """Check that the file is as it was written. Raises NoEvidence with place and remedy."""
    problem = damage(path, wanted)
    if problem:
        raise NoEvidence(problem, hint=AGAIN)


def damage(path: Path, wanted: dict[str, int]) -> str:
    """Return what is wrong with a file, in a sentence, if anything. The size is checked first."""
    try:
        if not path.is_file():
            return f"{path} is missing: the manifest tells of it"
        size = path.stat().st_size
        if size != wanted.get("size"):
            return f"{path} is damaged: it has {size} bytes and not {wanted.get('size')}"
        crc = of(path)["crc"]
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}"
    if crc != wanted.get("crc"):
        return f"{path} is damaged: its checksum is {crc} and not {wanted.get('crc')}"
    return ""
