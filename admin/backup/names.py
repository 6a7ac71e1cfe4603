"""Names of the files of a place."""

from typing import Final

PLACE: Final = "qsync-backup.json"
BASE: Final = "base"
"""Folder of the backups, one folder each, named by the index of its rows."""
LOG: Final = "log"
"""Folder of the log, which all backups share."""
BACKUP: Final = "backup.json"
"""Put there last: without it there is no backup."""
ROWS_SUFFIX: Final = ".rows"
LOG_SUFFIX: Final = ".log"
MANIFEST_SUFFIX: Final = ".json"
NEVER: Final = 1 << 64
"""Above every index."""
_DIGITS: Final = 20


def base(index: int) -> str:
    """Return the folder of the backup whose rows are exact at an index."""
    return f"{BASE}/{index:0{_DIGITS}}"


def backup(index: int) -> str:
    """Return the manifest of a backup."""
    return f"{base(index)}/{BACKUP}"


def rows_part(index: int, number: int) -> str:
    """Return a part of its rows; they count from 1."""
    return f"{base(index)}/{number:06}{ROWS_SUFFIX}"


def log_part(first: int, last: int) -> str:
    """Return a part of the log."""
    return f"{LOG}/{first:0{_DIGITS}}-{last:0{_DIGITS}}{LOG_SUFFIX}"


def log_manifest(part: str) -> str:
    """Return the manifest of a part of the log."""
    return part.removesuffix(LOG_SUFFIX) + MANIFEST_SUFFIX


def log_last(part: str) -> int:
    """Return the last index of a part, by its name; for other names one that is never reached."""
    return log_range(part)[1]


def log_range(name: str) -> tuple[int, int]:
    """Return the first and last index of a part, by its name or that of its manifest.

    For other names indexes that are never reached.
    """
    stem = name.rpartition("/")[2].removesuffix(LOG_SUFFIX).removesuffix(MANIFEST_SUFFIX)
    first, _, last = stem.partition("-")
    known = first.isdecimal() and last.isdecimal()
    return (int(first), int(last)) if known else (NEVER, NEVER)
