"""Backups are read while an archive goes on, and beside what a stopped backup has left."""

from pathlib import Path
from random import Random

import pytest

from admin.backup import catalogue, names, pruning, restoring, verifying
from admin.backup.catalogue import Catalogue
from admin.backup.failures import BackupDamaged
from admin.backup.log_archive import LogArchive
from admin.backup.places import Folder
from admin.backup.points import WantedPoint
from admin.backup.pruning import KeptBackups
from admin.backup.throttle import Throttle
from qsync.errors import Unavailable
from qsync.record import CHAIN_SEED
from qsync.store.memory import MemorySpaces
from tests.unit.backups import MadeHistory, MadeSource, begin, keep_log, keep_rows, shown


def lived() -> MadeHistory:
    history = MadeHistory(Random(5))
    history.live(120)
    return history


class Growing:
    """An archive that puts a longer part in the place of the one that it wrote before."""

    def __init__(self, found: Catalogue, history: MadeHistory) -> None:
        self.history = history
        self.log = LogArchive(found, last=0, crc=CHAIN_SEED, grows=True)

    def keep(self, upto: int) -> int:
        upto = self.history.clip(upto)
        self.log.copy_from(MadeSource(self.history), upto, Throttle(None), lambda *_: None)
        return upto


def test_what_an_archive_replaces_is_read_from_the_longer_part(tmp_path: Path) -> None:
    """By a verification, and by a restore between two of its looks at the log."""
    history, place = lived(), Folder(tmp_path)
    keep_rows(begin(place), history, 0)
    archive = Growing(catalogue.load(place), history)
    first = archive.keep(40)
    found = catalogue.load(place)
    plan, log = restoring.plan(found, WantedPoint())
    for upto in (60, 80, history.last):
        archive.keep(upto)
        result = verifying.verify(found, lambda *_: None)
        assert (result.problems, result.entries) == ([], first)
    assert [each.last for each in catalogue.load(place).log] == [history.last]
    spaces = MemorySpaces()
    log.fold_into(spaces, lambda _: None)
    assert (plan.index, shown(spaces)) == (first, history.rows(first))


def test_a_part_that_is_missing_is_not_taken_from_another_one(tmp_path: Path) -> None:
    history, place = lived(), Folder(tmp_path)
    keep_rows(begin(place), history, 0)
    keep_log(catalogue.load(place), history, 0, history.last)
    found = catalogue.load(place)
    assert len(found.log) > 3
    place.remove(found.log[1].part.name)
    (problem,) = verifying.verify(catalogue.load(place), lambda *_: None).problems
    assert problem == f"{found.log[1].part.name} is missing, a manifest tells of it"


class Late(Folder):
    """While the first manifest of the log is read from it, an archive goes on there."""

    archive: Growing | None = None

    def read(self, name: str) -> bytes:
        archive = self.archive
        if archive is not None and name.startswith("log/"):
            self.archive = None
            archive.keep(archive.history.last)
        return super().read(name)


def test_a_manifest_that_is_replaced_while_all_are_read_is_no_damage(tmp_path: Path) -> None:
    history, place = lived(), Late(tmp_path)
    keep_rows(begin(place), history, 0)
    archive = Growing(catalogue.load(place), history)
    archive.keep(40)
    place.archive = archive
    found = catalogue.load(place)
    assert place.archive is None
    assert (found.damage, found.reach(found.backups[0])) == ([], history.last)


class Later(Folder):
    """While the sizes of its files are read, an archive goes on there: before, and then after."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.archive: Growing | None = None
        self.ends: list[int] = []

    def sizes(self, folder: str) -> dict[str, int | None]:
        self._go_on()
        found = super().sizes(folder)
        self._go_on()
        return found

    def _go_on(self) -> None:
        if self.archive is not None and self.ends:
            self.archive.keep(self.ends.pop(0))


def test_a_part_that_is_replaced_while_sizes_are_read_is_no_damage(tmp_path: Path) -> None:
    history, place = lived(), Later(tmp_path)
    keep_rows(begin(place), history, 0)
    archive = Growing(catalogue.load(place), history)
    for ends in ([40], [60, 70], [80, 90, 100, 110]):
        archive.keep(ends[0] - 20)
        place.archive, place.ends = archive, ends
        found = catalogue.load(place)
        assert not place.ends
        assert (found.problems, found.reach(found.backups[0])) == ([], archive.log.last)


def test_a_manifest_that_is_named_and_not_there_is_damage(tmp_path: Path) -> None:
    history, place = lived(), Folder(tmp_path)
    keep_rows(begin(place), history, 0)
    keep_log(catalogue.load(place), history, 0, history.last)
    gone = tmp_path / "log" / f"{9000:020}-{9009:020}.json"
    gone.symlink_to(tmp_path / "nowhere")
    assert catalogue.load(place).damage == [f"{gone} is not there"]


def test_a_manifest_without_the_part_that_another_archive_removed_is_no_damage(
    tmp_path: Path,
) -> None:
    """Two archives write a part of the same name, and one replaces it between the other's writes.

    The other one is killed then. A prune removes what it left.
    """
    history, place = lived(), Folder(tmp_path)
    keep_rows(begin(place), history, 0)
    archive = Growing(catalogue.load(place), history)
    archive.keep(40)
    (short,) = catalogue.load(place).log
    name = names.log_manifest(short.part.name)
    content = place.read(name)
    last = archive.keep(60)
    place.write(name, content)
    found = catalogue.load(place)
    assert (found.problems, found.reach(found.backups[0])) == ([], last)
    assert verifying.verify(found, lambda *_: None).problems == []
    keep_rows(found, history, last)
    pruning.prune(found, pruning.plan(found, KeptBackups(last=1), now=0.0), lambda *_: None)
    assert place.names(names.LOG) == []


def test_what_a_stopped_backup_left_hides_nothing_that_an_archive_kept(tmp_path: Path) -> None:
    """Its parts are longer, and not all in them is decided by what is kept of the log."""
    history, place = lived(), Folder(tmp_path)
    keep_rows(begin(place), history, 0)
    before, ends = catalogue.load(place), [history.clip(each) for each in (20, 40, 60)]
    for upto in ends:
        keep_log(catalogue.load(place), history, 0, upto)
    keep_rows(catalogue.load(place), history, ends[0])
    with pytest.raises(Unavailable):
        keep_log(before, history, 0, history.last, dies_at=90)
    found = catalogue.load(place)
    assert max(each.last for each in found.log) > ends[-1]
    assert [found.reach(each) for each in found.backups] == [ends[-1]] * 2
    for index in (5, ends[1], ends[-1]):
        plan, log = restoring.plan(found, WantedPoint(index=index, backup="0"))
        spaces = MemorySpaces()
        log.fold_into(spaces, lambda _: None)
        assert (plan.index, shown(spaces)) == (history.clip(index), history.rows(index))
    assert verifying.verify(found, lambda *_: None).problems == []
    keep_log(catalogue.load(place), history, 0, history.last)
    assert catalogue.load(place).reach(found.backups[0]) == history.last


def test_a_manifest_in_the_place_of_another_one_is_damage(tmp_path: Path) -> None:
    """Else a prune of the one would remove the other."""
    history, place = lived(), Folder(tmp_path)
    found = begin(place)
    keep_log(found, history, 0, history.last)
    bases = [keep_rows(found, history, history.clip(each)) for each in (30, 60)]
    manifests = [names.backup(each.index) for each in bases]
    manifests += [names.log_manifest(each.part.name) for each in found.log[:2]]
    for one, other in (manifests[:2], manifests[2:]):
        contents = {each: place.read(each) for each in (one, other)}
        place.write(one, contents[other])
        loaded = catalogue.load(place)
        assert f"{one} is not its manifest, but a copy of {other}" in loaded.damage
        with pytest.raises(BackupDamaged, match="nothing is pruned"):
            pruning.plan(loaded, KeptBackups(last=1), now=0.0)
        place.write(one, contents[one])
    assert catalogue.load(place).damage == []
