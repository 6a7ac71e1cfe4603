"""Checksums of files: what a disk did to a bundle must not be taken for what nodes did."""

import zlib
from pathlib import Path

from admin.evidence.manifest import AGAIN, NoEvidence

CHUNK_BYTES = 1 << 20
"""Read at a time."""


def of(path: Path) -> dict[str, int]:
    """What the manifest keeps of a file: its size, and the CRC-32 of all of it."""
    crc, size = 0, 0
    with path.open("rb") as file:
        while some := file.read(CHUNK_BYTES):
            crc = zlib.crc32(some, crc)
            size += len(some)
    return {"size": size, "crc": crc}


def check(path: Path, wanted: dict[str, int]) -> None:
    """Raises NoEvidence, with the place and what to do, unless the file is as it was written."""
    told = damage(path, wanted)
    if told:
        raise NoEvidence(told, hint=AGAIN)


def damage(path: Path, wanted: dict[str, int]) -> str:
    """What is wrong with a file, in a sentence, if anything is. The size is looked at first."""
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
