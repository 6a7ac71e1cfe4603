"""Reads the parts of a place: rows and log, each checked against its manifest."""

from collections.abc import Iterable, Iterator, Mapping

from admin.backup import manifest, names
from admin.backup.failures import BackupDamaged, NoBackup
from admin.backup.manifest import LogManifest
from admin.backup.places import BackupPlace
from qsync import record
from qsync.record import Entry, RecordDamage


def batches(
    place: BackupPlace, chain: list[LogManifest], *, after: int, crc: int
) -> Iterator[list[Entry]]:
    """Return the verified entries behind `after`, whose checksum is `crc`, part by part.

    Raises BackupDamaged.
    """
    for each in chain:
        found = read_log(place, each)
        skipped = max(0, after + 1 - each.first)
        if skipped and found[skipped - 1].crc != crc:
            raise BackupDamaged(f"{each.part.name}: entry {after} is another one than before it")
        if not skipped and each.before != crc:
            raise BackupDamaged(f"{each.part.name} does not go on where the part before it ends")
        yield found[skipped:]
        after, crc = each.last, each.crc


def read_log(place: BackupPlace, part: LogManifest) -> list[Entry]:
    """Return all entries of a part, verified. Raises BackupDamaged, which names the part."""
    try:
        return _entries(place, part)
    except BackupDamaged as error:
        error.details["part"] = part.part.name
        raise


def _entries(place: BackupPlace, part: LogManifest) -> list[Entry]:
    try:
        content = place.read(part.part.name)
    except NoBackup:
        found = _replaced(place, part)
        if found is None:
            raise _missing(part.part) from None
        return found
    manifest.check_part(part.part, content)
    try:
        found = record.decode(content, previous=part.before)
    except RecordDamage as damage:
        raise BackupDamaged(f"{part.part.name}: {damage}") from damage
    if not found or (found[0].index, found[-1].index) != (part.first, part.last):
        raise BackupDamaged(f"{part.part.name} does not hold the entries {part.first}..{part.last}")
    if found[-1].crc != part.crc:
        raise BackupDamaged(f"{part.part.name} ends with another entry than its manifest says")
    return found


def _replaced(place: BackupPlace, part: LogManifest) -> list[Entry] | None:
    """Return its entries from a longer part, which an archive has put in its place since.

    None where there is none. Raises BackupDamaged.
    """
    for name in log_manifests(place):
        first, last = names.log_range(name)
        if first > part.first or last <= part.last:
            continue
        try:
            longer = log_manifest(name, place.read(name))
        except NoBackup:
            continue  # that was replaced, too
        entries = read_log(place, longer)
        found = entries[part.first - longer.first : part.last + 1 - longer.first]
        if found[-1].crc != part.crc:
            raise BackupDamaged(f"{name}: entry {part.last} is another one than elsewhere")
        return found
    return None


def read_part(place: BackupPlace, part: manifest.Part) -> bytes:
    """Return a part as it was written. Raises BackupDamaged when it is missing or changed."""
    try:
        content = place.read(part.name)
    except NoBackup:
        raise _missing(part) from None
    manifest.check_part(part, content)
    return content


def _missing(part: manifest.Part) -> BackupDamaged:
    return BackupDamaged(f"{part.name} is missing, a manifest tells of it")


def check_there(part: manifest.Part, sizes: Mapping[str, int | None]) -> None:
    """Check a part by the sizes of the files in its folder. Raises BackupDamaged."""
    name = part.name.rpartition("/")[2]
    if name not in sizes:
        raise _missing(part)
    size = sizes[name]
    if size is not None:
        manifest.check_size(part, size)


def log_manifest(name: str, content: bytes) -> LogManifest:
    """Return the manifest of a part of the log, as it is stored there. Raises BackupDamaged."""
    made = manifest.decode(LogManifest, name, content)
    part = names.log_part(made.first, made.last)
    check_place(name, names.log_manifest(part))
    check_parts(name, [(made.part.name, part)])
    return made


def check_place(name: str, own: str) -> None:
    """A manifest is where it was written: by its place others remove it. Raises BackupDamaged."""
    if name != own:
        raise BackupDamaged(f"{name} is not its manifest, but a copy of {own}")


def check_parts(name: str, parts: Iterable[tuple[str, str]]) -> None:
    """Check that a manifest tells of its own files alone. Raises BackupDamaged.

    Who can write to a place could otherwise name any file of those who prune it, to be removed.
    """
    for told, own in parts:
        if told != own:
            raise BackupDamaged(f"{name} tells of {told!r}, which is no file of it")


def log_manifests(place: BackupPlace) -> list[str]:
    """Return the names of the manifests of the log."""
    there = place.names(names.LOG)
    return [f"{names.LOG}/{each}" for each in there if each.endswith(names.MANIFEST_SUFFIX)]
