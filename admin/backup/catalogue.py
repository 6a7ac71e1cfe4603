"""The catalogue of a place: its backups, the log behind them, and how far each one leads."""

import uuid
from dataclasses import dataclass, field, replace

from admin.backup import manifest, names, reading, sealing
from admin.backup.failures import BackupDamaged, ForeignBackup, NoBackup
from admin.backup.manifest import BackupManifest, LogManifest, PlaceManifest
from admin.backup.places import BackupPlace
from admin.backup.sealing import SealedPlace
from qsync.core import logstart
from qsync.core.logstart import LogStart
from qsync.errors import Damaged


@dataclass(slots=True)
class Catalogue:
    """All manifests of a place, of files that are there with their sizes; no file is read.

    `lost`: what is wrong with the log, and up to which index each part may have led. Of backups, by
    index, `torn`: what is wrong with the rows; `unread`: why the manifest cannot be read.
    """

    place: BackupPlace
    cluster: str
    id: str = ""
    backups: list[BackupManifest] = field(default_factory=list)
    log: list[LogManifest] = field(default_factory=list)
    unfinished: list[int] = field(default_factory=list)
    lost: dict[str, int] = field(default_factory=dict)
    torn: dict[int, list[str]] = field(default_factory=dict)
    unread: dict[int, str] = field(default_factory=dict)

    @property
    def damage(self) -> list[str]:
        """The missing parts, those that are cut short, and the unreadable manifests."""
        rows = (why for each in self.torn.values() for why in each)
        return [*self.unread.values(), *self.lost, *rows]

    @property
    def problems(self) -> list[str]:
        """The damage, and the backups whose log ends earlier than when they were made."""
        return [*self.damage, *(why for each in self.backups for why in self.short(each))]

    def missing(self, backup: BackupManifest) -> list[str]:
        """Return the damage of a backup since it was made: of its rows, and of its log."""
        return [*self.torn.get(backup.index, []), *self.short(backup)]

    def short(self, backup: BackupManifest) -> list[str]:
        """Return where the log of a backup ends, if that is earlier than when it was made."""
        reach = self.reach(backup)
        if reach >= backup.last:
            return []
        made = f"backup {backup.index} was made up to index {backup.last}"
        return [f"{made}, and the log behind it leads to {reach}"]

    def hidden(self, index: int) -> list[str]:
        """Return the damage without which something behind an index could be restored."""
        lost = [why for why, upto in self.lost.items() if upto > index]
        unread = [why for at, why in self.unread.items() if at > index]
        short = (self.short(each) for each in self.backups if each.last > index)
        return [*lost, *unread, *(why for each in short for why in each)]

    @property
    def sealed(self) -> bool:
        """Whether the place is sealed: it cannot be read without its key."""
        return isinstance(self.place, SealedPlace)

    def without(self, name: str, why: str) -> "Catalogue":
        """Return the same place without a part of the log that cannot be read."""
        log = [each for each in self.log if each.part.name != name]
        return replace(self, log=log, lost={**self.lost, why: _led_to(name)})

    def chain(self, index: int, crc: int, *, upto: int = names.NEVER) -> list[LogManifest]:
        """Return the parts of the log that follow an entry without a gap, none beyond `upto`."""
        found: list[LogManifest] = []
        at, sum_there = index, crc
        parts = [each for each in self.log if each.last <= upto]
        while True:
            fitting = [each for each in parts if each.first <= at + 1 <= each.last]
            fitting = [each for each in fitting if each.first <= at or each.before == sum_there]
            if not fitting:
                return found
            furthest = max(fitting, key=lambda each: (each.last, each.settled))
            found.append(furthest)
            at, sum_there = furthest.last, furthest.crc

    def settled_chain(self, backup: BackupManifest) -> list[LogManifest]:
        """Return the same up to the last part of which all is decided.

        A longer part of which not all is may be beside those: of a backup that was stopped, while
        an archive went on.
        """
        chain = self.chain(backup.index, backup.crc)
        end = chain[-1].last if chain else backup.index
        ends = {each.last for each in self.log if each.settled and backup.index < each.last <= end}
        for upto in sorted(ends, reverse=True):
            chain = self.chain(backup.index, backup.crc, upto=upto)
            if chain and chain[-1].last == upto and chain[-1].settled:
                return chain
        return []

    def reach(self, backup: BackupManifest) -> int:
        """Return the last index to which a backup can be restored."""
        chain = self.settled_chain(backup)
        return max([backup.index, *(each.last for each in chain)])

    def until(self, backup: BackupManifest) -> float:
        """Return when the last entry that it reaches was written, in seconds since 1970."""
        chain = self.settled_chain(backup)
        return max([backup.index_time, *(each.latest for each in chain)])

    def youngest(self, index: int) -> float:
        """Return the latest time of an entry up to there that a prune may remove; 0 of none."""
        times = [each.latest for each in self.log if each.last <= index]
        return max([0.0, *times, *(each.youngest for each in self.backups if each.index <= index)])

    def backup(self, name: str) -> BackupManifest:
        """Return a backup by its name: the index of its rows. Raises NoBackup."""
        for each in self.backups:
            if name.isdecimal() and int(name) == each.index:
                return each
        known = ", ".join(str(each.index) for each in self.backups)
        raise NoBackup(
            f"there is no backup {name} at {self.place.url}; there are {known or 'none'}"
        )


def load(place: BackupPlace) -> Catalogue:
    """Read all manifests. Raises NoBackup, or BackupDamaged if the cluster's name is unreadable.

    Of a sealed place BackupKeyRefused unless it is a SealedPlace with the right secret. Of the
    files that manifests tell of it asks for the sizes only: `verifying` reads them.
    """
    while True:
        found = _loaded(place)
        if not found.problems or _stay(found):
            return found


def _loaded(place: BackupPlace) -> Catalogue:
    try:
        content = place.read(names.PLACE)
    except NoBackup:
        raise NoBackup(
            f"{place.url} holds no backups of qsync",
            hint="`qsync backup create` makes the first one there",
        ) from None
    about = manifest.decode(PlaceManifest, names.PLACE, content)
    sealing.check_sealed(place, about.seal, about.cluster)
    found = Catalogue(place, about.cluster, about.id)
    for folder in place.folders(names.BASE):
        if folder.isdecimal():
            _load_backup(found, int(folder))
    wrong = _load_logs(found)
    found.log.sort(key=lambda each: (each.first, each.last))
    _check_followed(found, wrong)
    return found


def load_or_begin(place: BackupPlace, cluster: str) -> Catalogue:
    """Read all manifests to add to them; an empty place becomes the cluster's, sealed or not.

    Raises ForeignBackup when it is another cluster's, NoBackup when other things are there.
    """
    try:
        found = load(place)
    except NoBackup:
        others = [*place.names(""), *place.folders("")]
        if others:
            raise NoBackup(
                f"{place.url} holds no backups, but other things: {', '.join(others[:5])}",
                hint="name a place of its own, where nothing is yet",
            ) from None
        about = _begun(place, cluster)
        if place.write_new(names.PLACE, manifest.encode(about)):
            return Catalogue(place, cluster, about.id)
        found = load(place)  # somebody else has begun it just now, and sealed it with another salt
    if found.cluster != cluster:
        raise ForeignBackup(
            f"{place.url} holds backups of cluster {found.cluster}, and this one is {cluster}"
        )
    return found


def start_of(backup: BackupManifest) -> LogStart:
    """Return where the log continues behind its rows. Raises BackupDamaged."""
    try:
        start = logstart.decode(bytes.fromhex(backup.start)) if backup.index else logstart.EMPTY
    except (Damaged, ValueError) as error:
        raise BackupDamaged(f"{names.backup(backup.index)}: {error}") from error
    if (start.index, start.crc) != (backup.index, backup.crc):
        raise BackupDamaged(f"{names.backup(backup.index)} contradicts itself")
    return start


def _begun(place: BackupPlace, cluster: str) -> PlaceManifest:
    id_ = uuid.uuid4().hex[:12]
    if not isinstance(place, SealedPlace):
        return PlaceManifest(cluster=cluster, id=id_)
    seal = place.begin_seal(cluster)
    return PlaceManifest(cluster=cluster, id=id_, format=manifest.SEALED_FORMAT, seal=seal)


def _load_backup(found: Catalogue, index: int) -> None:
    try:
        content = found.place.read(names.backup(index))
    except NoBackup:
        found.unfinished.append(index)
        return
    except BackupDamaged as error:
        found.unread[index] = error.message
        return
    try:
        made = manifest.decode(BackupManifest, names.backup(index), content)
        reading.check_place(names.backup(index), names.backup(made.index))
        reading.check_parts(
            names.backup(index),
            [(part.name, names.rows_part(index, at)) for at, part in enumerate(made.parts, 1)],
        )
    except BackupDamaged as error:
        found.unread[index] = error.message
        return
    found.backups.append(made)
    sizes = found.place.sizes(names.base(index))
    for part in made.parts:
        try:
            reading.check_there(part, sizes)
        except BackupDamaged as error:
            found.torn.setdefault(index, []).append(error.message)


def _stay(found: Catalogue) -> bool:
    """Whether all backups are still there, and no prune removes them with their log."""
    bases = (names.base(each.index) for each in found.backups)
    return all(names.BACKUP in found.place.names(each) for each in bases)


def _load_logs(found: Catalogue) -> set[str]:
    """Read the manifests of the log, and those that an archive which runs writes meanwhile.

    Return the names of those that count for nothing, because they or their parts are damaged.
    It puts a longer part in the place of one that grows: the new manifest is there before the old
    one goes, and that goes before its part. So what is missing was lost only if its manifest stays,
    and no longer part has its entries: of two archives one may remove what the other is writing.
    """
    wrong: dict[str, str] = {}
    seen: set[str] = set()
    gone: set[str] = set()
    there = set(reading.log_manifests(found.place))
    while fresh := there - seen:
        sizes = found.place.sizes(names.LOG)
        for name in sorted(fresh):
            try:
                made = reading.log_manifest(name, found.place.read(name))
                reading.check_there(made.part, sizes)
                found.log.append(made)
            except (NoBackup, BackupDamaged) as error:
                wrong[name] = error.message
        gone |= {name for name in fresh if _part_of(name) not in sizes}
        seen |= fresh
        there = set(reading.log_manifests(found.place))
    there -= {name for name in gone if _is_within(name, found.log)}
    found.lost |= {why: _led_to(name) for name, why in wrong.items() if name in there}
    return set(wrong)


def _part_of(name: str) -> str:
    """Return the part of a manifest, as its folder calls it."""
    return name.rpartition("/")[2].removesuffix(names.MANIFEST_SUFFIX) + names.LOG_SUFFIX


def _is_within(name: str, log: list[LogManifest]) -> bool:
    """Whether a longer part has the entries that a manifest tells of, by its name."""
    first, last = names.log_range(name)
    return any(each.first <= first and last < each.last for each in log)


def _led_to(name: str) -> int:
    """Return the last index of a part, by its name; 0 of a name that nobody gives to one."""
    last = names.log_last(name)
    return 0 if last == names.NEVER else last


def _check_followed(found: Catalogue, wrong: set[str]) -> None:
    """Find missing parts that others follow; a longer one may have replaced them.

    `wrong`: the manifests of which that is known.
    What is before the oldest backup leads nowhere, and may have been pruned.
    """
    oldest = min((each.index for each in found.backups), default=0)
    for each in found.log:
        before = each.first - 1
        if (
            before > oldest
            and each.follows
            and names.log_manifest(each.follows) not in wrong
            and not any(other.first <= before <= other.last for other in found.log)
        ):
            why = f"{each.follows} is missing, {each.part.name} went on behind it"
            found.lost[why] = before
