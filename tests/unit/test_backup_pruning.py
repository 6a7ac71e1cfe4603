"""Old backups go, and every point from the oldest kept one on is restored as before."""

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from admin.backup import catalogue, manifest, names, pruning, restoring, verifying
from admin.backup.failures import BackupDamaged, NoBackup
from admin.backup.manifest import BackupManifest
from admin.backup.places import BackupPlace, Folder, open_place
from admin.backup.points import WantedPoint
from admin.backup.pruning import KeptBackups
from cli.exits import Exit
from cli.main import run
from qsync.store.memory import MemorySpaces
from tests.unit.backups import MadeHistory, begin, keep_log, keep_rows, shown

SHARES = (0.0, 0.3, 0.5, 0.8)
DAY = 86_400.0
NOW = 10 * DAY


def lived(place: BackupPlace) -> tuple[MadeHistory, list[BackupManifest]]:
    """A history with four backups, a day apart; the newest one ended an hour ago."""
    history = MadeHistory(Random(5))
    history.live(120)
    found = begin(place)
    keep_log(found, history, 0, history.last)
    made = []
    for number, share in enumerate(SHARES):
        backup = keep_rows(found, history, history.clip(int(share * history.last)))
        aged = replace(backup, ended=NOW - 3600 - DAY * (len(SHARES) - 1 - number))
        place.write(names.backup(aged.index), manifest.encode(aged))
        made.append(aged)
    return history, made


def pruned(place: BackupPlace, kept: KeptBackups) -> pruning.PrunePlan:
    found = catalogue.load(place)
    plan = pruning.plan(found, kept, now=NOW)
    pruning.prune(found, plan, lambda *_: None)
    return plan


def restores(place: BackupPlace, history: MadeHistory, first: int) -> None:
    """Everything from there on, and all that is there is whole."""
    found = catalogue.load(place)
    result = verifying.verify(found, lambda *_: None)
    assert (result.problems, found.unfinished) == ([], [])
    for index in range(max(first, 1), history.last + 1, 3):
        plan, log = restoring.plan(found, WantedPoint(index=index))
        spaces = MemorySpaces()
        if plan.point.backup.index:
            restoring.take_rows(found, plan.point, spaces, lambda *_: None)
        log.fold_into(spaces, lambda _: None)
        assert (plan.index, shown(spaces)) == (history.clip(index), history.rows(index))


@pytest.mark.parametrize(
    ("kept", "count"),
    [
        (KeptBackups(last=1), 1),
        (KeptBackups(last=3), 3),
        (KeptBackups(last=9), 4),
        (KeptBackups(seconds=1.5 * DAY), 2),
        (KeptBackups(seconds=1.0), 1),
        (KeptBackups(last=1, seconds=2.5 * DAY), 3),
        (KeptBackups(last=2, seconds=1.0), 2),
    ],
)
def test_what_is_kept_can_be_restored_to_every_point_as_before(
    tmp_path: Path, kept: KeptBackups, count: int
) -> None:
    place = Folder(tmp_path)
    history, made = lived(place)
    plan = pruned(place, kept)
    assert [each.index for each in plan.kept] == [each.index for each in made[-count:]]
    restores(place, history, plan.begins)
    left = catalogue.load(place)
    assert [each.index for each in left.backups] == [each.index for each in made[-count:]]
    assert all(each.last > plan.begins for each in left.log)
    assert bool(plan.log) is (count < len(made))
    again = pruned(place, kept)
    assert (again.backups, again.log, again.bytes) == ((), (), 0)


def test_a_place_of_fsspec_is_pruned_as_a_folder_is() -> None:
    place = open_place("memory://pruned")
    history, made = lived(place)
    assert pruned(place, KeptBackups(last=2)).begins == made[-2].index
    assert place.folders(names.BASE) == [f"{each.index:020}" for each in made[-2:]]
    restores(place, history, made[-2].index)


class Killed(BaseException):
    """The process dies here."""


class Dying(Folder):
    """Takes so many removals."""

    left = 0

    def remove(self, name: str) -> None:
        self._count()
        super().remove(name)

    def remove_folder(self, folder: str) -> None:
        self._count()
        super().remove_folder(folder)

    def _count(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Killed


def test_a_prune_that_was_killed_anywhere_goes_on_and_breaks_nothing(tmp_path: Path) -> None:
    place, kills = Dying(tmp_path), 0
    history, made = lived(place)
    while True:
        place.left = 1
        try:
            pruned(place, KeptBackups(last=1))
        except Killed:
            kills += 1
            result = verifying.verify(catalogue.load(place), lambda *_: None)
            assert result.problems == []
        else:
            break
    assert kills > len(made)
    restores(place, history, made[-1].index)
    parts = {name for name in place.names(names.LOG) if name.endswith(names.LOG_SUFFIX)}
    assert len(parts) == len(catalogue.load(place).log)


def test_what_a_stopped_backup_left_goes_if_it_is_older_than_what_is_kept(tmp_path: Path) -> None:
    place = Folder(tmp_path)
    _, made = lived(place)
    place.remove(names.backup(made[1].index))
    plan = pruned(place, KeptBackups(last=2))
    assert plan.unfinished == (made[1].index,)
    assert catalogue.load(place).unfinished == []


def test_where_something_is_damaged_nothing_is_pruned(tmp_path: Path) -> None:
    place = Folder(tmp_path)
    _, made = lived(place)
    last = catalogue.load(place).log[-1].part.name
    content = place.read(names.log_manifest(last))
    place.write(names.log_manifest(last), content[:-9])
    with pytest.raises(BackupDamaged, match="nothing is pruned"):
        pruned(place, KeptBackups(last=1))
    place.remove(names.log_manifest(last))
    with pytest.raises(BackupDamaged, match=f"backup {made[-1].index} was made up to index"):
        pruned(place, KeptBackups(last=1))
    assert len(catalogue.load(place).backups) == len(made)


OUTSIDE = "../kept/rows"


@pytest.mark.parametrize("named", [OUTSIDE, "ABSOLUTE", "base/1/backup.json", "qsync-backup.json"])
def test_a_manifest_that_names_a_file_of_others_removes_none(named: str, tmp_path: Path) -> None:
    """Whoever can write to a place may write a manifest, too: its checksum is no secret."""
    kept = tmp_path / "kept" / "rows"
    kept.parent.mkdir()
    kept.write_text("rows of somebody else")
    place = Folder(tmp_path / "place")
    _, made = lived(place)
    part = catalogue.load(place).log[0]
    name = str(kept) if named == "ABSOLUTE" else named
    forged = replace(part, part=replace(part.part, name=name))
    place.write(names.log_manifest(part.part.name), manifest.encode(forged))
    with pytest.raises(BackupDamaged, match="is no file of it: nothing is pruned"):
        pruned(place, KeptBackups(last=1))
    assert kept.read_text() == "rows of somebody else"
    assert len(catalogue.load(place).backups) == len(made)


def test_a_manifest_counts_in_its_own_place_only(tmp_path: Path) -> None:
    place = Folder(tmp_path)
    _, made = lived(place)
    moved = replace(made[1], parts=(replace(made[1].parts[0], name="../x"), *made[1].parts[1:]))
    place.write(names.backup(made[1].index), manifest.encode(moved))
    place.write(names.backup(made[2].index), manifest.encode(made[3]))
    log = catalogue.load(place).log
    content = place.read(names.log_manifest(log[0].part.name))
    place.write(f"{names.LOG}/copy{names.MANIFEST_SUFFIX}", content)
    found = catalogue.load(place)
    assert [each.index for each in found.backups] == [made[0].index, made[3].index]
    assert len(found.damage) == 3
    assert len(found.log) == len(log)
    verified = verifying.verify(found, lambda *_: None)
    assert len(verified.problems) >= 3


def test_a_place_without_a_finished_backup_is_not_pruned(tmp_path: Path) -> None:
    begin(Folder(tmp_path))
    with pytest.raises(NoBackup, match="nothing is pruned"):
        pruned(Folder(tmp_path), KeptBackups(last=1))


def test_the_command_says_what_goes_and_a_dry_run_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Folder(tmp_path)
    _, made = lived(place)
    before = sorted(tmp_path.rglob("*"))
    command = ["backup", "prune", str(tmp_path), "--keep-last", "1"]
    assert run(["backup", "prune", str(tmp_path)]) == Exit.USAGE
    assert "--keep-within" in capsys.readouterr().err
    assert run(["backup", "prune", str(tmp_path), "--keep-last", "0"]) == Exit.USAGE
    capsys.readouterr()
    assert run([*command, "--dry-run"]) == Exit.DONE
    assert "would remove 3 backups" in capsys.readouterr().err
    assert run([*command, "--dry-run", "--json"]) == Exit.DONE
    told = json.loads(capsys.readouterr().out)
    assert sorted(tmp_path.rglob("*")) == before
    assert run([*command, "--json"]) == Exit.DONE
    found = json.loads(capsys.readouterr().out)
    assert (told["schema"], found["schema"]) == ("qsync/dry-run/1", "qsync/backup.prune/1")
    told.pop("schema")
    found.pop("schema")
    assert told == found
    assert (found["kept"], found["begins"]) == ([made[-1].index], made[-1].index)
    assert found["removed"] == [each.index for each in made[:-1]]
    (tmp_path / "base" / f"{made[-1].index:020}" / "backup.json").write_text("{}")
    assert run(command) in {Exit.USAGE, Exit.CHECK_FAILED}
