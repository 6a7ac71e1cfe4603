"""Files of a backup that are gone or cut short: everybody who looks at the place is told."""

import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from admin.backup import catalogue, names, pruning, restoring
from admin.backup.backups import Backups
from admin.backup.catalogue import Catalogue
from admin.backup.failures import BackupDamaged, BackupGap
from admin.backup.places import BackupPlace, Folder, open_place
from admin.backup.points import WantedPoint
from admin.backup.pruning import KeptBackups
from admin.backup.sealing import SealedPlace
from admin.doctor import facts
from cli.exits import Exit
from cli.main import run
from tests.unit.backups import MadeHistory, begin, derived_once, keep_log, keep_rows

once = pytest.fixture(autouse=True, scope="module")(derived_once)

KEY = "a key of the place"


def lived(place: BackupPlace) -> tuple[MadeHistory, Catalogue]:
    """A log in many parts, with backups at its beginning and in its middle."""
    history = MadeHistory(Random(5))
    history.live(120)
    found = begin(place)
    for upto in (30, 60, 90, history.last):
        keep_log(found, history, 0, history.clip(upto), part_bytes=1 << 20)
    for index in (0, history.clip(60)):
        keep_rows(found, history, index)
    return history, found


def folder(path: Path) -> tuple[Folder, Callable[[], BackupPlace]]:
    return Folder(path), lambda: Folder(path)


def sealed(path: Path) -> tuple[Folder, Callable[[], BackupPlace]]:
    return Folder(path), lambda: SealedPlace(Folder(path), KEY)


def remote(path: Path) -> tuple[BackupPlace, Callable[[], BackupPlace]]:
    url = f"memory://{path.name}"
    return open_place(url), lambda: open_place(url)


@pytest.mark.parametrize("kind", [folder, sealed, remote])
def test_what_is_missing_or_cut_short_is_told_by_names_and_sizes(
    tmp_path: Path, kind: Callable[[Path], tuple[BackupPlace, Callable[[], BackupPlace]]]
) -> None:
    stored, opened = kind(tmp_path)
    history, made = lived(opened())
    first, second = made.backups
    whole = catalogue.load(opened())
    assert (whole.problems, whole.log) == ([], made.log)
    rows, part = second.parts[1], made.log[-1]
    for name, size in ((rows.name, rows.size), (part.part.name, part.part.size)):
        content = stored.read(name)
        stored.write(name, content[:-9])
        found = catalogue.load(opened())
        assert f"{name} has {size - 9} bytes and not {size}" in found.damage
        stored.remove(name)
        found = catalogue.load(opened())
        assert f"{name} is missing, a manifest tells of it" in found.damage
        assert [each.index for each in found.backups] == [first.index, second.index]
        stored.write(name, content)
    stored.remove(part.part.name)
    found = catalogue.load(opened())
    assert [found.reach(each) for each in found.backups] == [part.first - 1] * 2
    (short,) = found.missing(found.backups[0])
    assert short.endswith(
        f"made up to index {history.last}, and the log behind it leads to {part.first - 1}"
    )
    assert len(found.problems) == 3


def test_the_list_says_of_each_backup_whether_it_is_complete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(tmp_path)
    _, made = lived(Folder(tmp_path))
    second = made.backups[1]
    (tmp_path / second.parts[0].name).unlink()
    why = f"{second.parts[0].name} is missing, a manifest tells of it"
    assert run(["backup", "list", place]) == Exit.CHECK_FAILED
    said = capsys.readouterr()
    one, other = said.out.splitlines()
    assert "restores to 0.." in one
    assert other.endswith("from n1; incomplete: it cannot be restored")
    assert why in said.err
    assert run(["backup", "list", place, "--json"]) == Exit.CHECK_FAILED
    found = json.loads(capsys.readouterr().out)
    assert [each["complete"] for each in found["backups"]] == [True, False]
    assert [each["missing"] for each in found["backups"]] == [[], [why]]
    assert found["problems"] == [why]
    assert [each.missing for each in Backups(place).list()] == [(), (why,)]


def test_metrics_and_the_doctor_count_no_backup_that_lacks_something(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The metrics are written in any case: they are how somebody hears of it."""
    _, made = lived(Folder(tmp_path))
    for each in made.backups:
        if each.parts:
            (tmp_path / each.parts[0].name).unlink()
    (tmp_path / made.log[0].part.name).unlink()
    assert run(["backup", "list", str(tmp_path), "--prometheus"]) == Exit.DONE
    samples = dict(
        line.rsplit(" ", 1) for line in capsys.readouterr().out.splitlines() if line[0] != "#"
    )
    found = {name.partition("{")[0]: float(value) for name, value in samples.items()}
    assert (found["qsync_backups"], found["qsync_backup_problems"]) == (2, 3)
    assert found["qsync_backup_newest_timestamp_seconds"] == 0
    assert found["qsync_backup_reach_timestamp_seconds"] == 0
    told = facts.backups_at(str(tmp_path), age_max=1e12, now=3.0)
    assert told.problem == f"{made.log[0].part.name} is missing, a manifest tells of it"


def test_an_older_backup_is_not_pruned_for_one_that_lacks_its_rows(tmp_path: Path) -> None:
    _, made = lived(Folder(tmp_path))
    (tmp_path / made.backups[1].parts[0].name).unlink()
    with pytest.raises(BackupDamaged, match="is missing, a manifest tells of it: nothing is"):
        pruning.plan(catalogue.load(Folder(tmp_path)), KeptBackups(last=1), now=3.0)


def test_a_restore_and_its_dry_run_refuse_a_backup_that_lacks_its_rows(tmp_path: Path) -> None:
    """Before a directory is made; an older backup that leads as far is named."""
    _, made = lived(Folder(tmp_path))
    second = made.backups[1]
    (tmp_path / second.parts[-1].name).unlink()
    found = catalogue.load(Folder(tmp_path))
    with pytest.raises(BackupDamaged, match=f"{second.parts[-1].name} is missing") as refused:
        restoring.preview(found, WantedPoint())
    assert refused.value.hint == "`--backup 0` begins with an older one, and leads as far"
    restoring.preview(found, WantedPoint(backup="0"))


@pytest.mark.parametrize("wanted", [WantedPoint(), WantedPoint(index=119), WantedPoint(time=9e9)])
def test_the_end_of_the_log_that_a_backup_had_is_not_left_out_without_a_word(
    tmp_path: Path, wanted: WantedPoint
) -> None:
    """Its last part is gone with its manifest; only the backup tells how far it led."""
    history, made = lived(Folder(tmp_path))
    assert history.last > 119
    part = made.log[-1].part.name
    for name in (part, names.log_manifest(part)):
        (tmp_path / name).unlink()
        found = catalogue.load(Folder(tmp_path))
        with pytest.raises(BackupDamaged, match="cannot be restored: ") as refused:
            restoring.plan(found, wanted)
        assert f"`--to-index {found.reach(found.backups[0])}` restores all" in refused.value.hint
    found = catalogue.load(Folder(tmp_path))
    plan, _ = restoring.plan(found, WantedPoint(index=found.reach(found.backups[0])))
    assert plan.index == found.reach(found.backups[0])


def test_a_point_before_the_oldest_readable_backup_names_the_one_that_is_not(
    tmp_path: Path,
) -> None:
    _, made = lived(Folder(tmp_path))
    second = made.backups[1]
    manifest = tmp_path / names.backup(0)
    manifest.write_bytes(manifest.read_bytes()[:-9])
    found = catalogue.load(Folder(tmp_path))
    for wanted in (WantedPoint(index=second.index - 1), WantedPoint(time=1.0)):
        with pytest.raises(BackupDamaged, match=f"{names.backup(0)} is no manifest") as refused:
            restoring.plan(found, wanted)
        assert f"begins at index {second.index};" in refused.value.hint
    restoring.plan(found, WantedPoint())
    restoring.plan(found, WantedPoint(index=second.index))


def test_a_manifest_that_was_copied_to_the_name_of_another_kind_is_refused(tmp_path: Path) -> None:
    """A place would have lost its id, and a backup that begins there would not notice."""
    place = Folder(tmp_path)
    _, made = lived(place)
    kinds = {
        "a place": tmp_path / names.PLACE,
        "a backup": tmp_path / names.backup(0),
        "a part of the log": tmp_path / names.log_manifest(made.log[0].part.name),
    }
    about = kinds["a place"].read_bytes()
    for kind in ("a backup", "a part of the log"):
        kinds["a place"].write_bytes(kinds[kind].read_bytes())
        for reach in (begin, catalogue.load):
            with pytest.raises(BackupDamaged, match=f"the manifest of {kind}, not of a place"):
                reach(place)
    kinds["a place"].write_bytes(about)
    part = kinds["a part of the log"].read_bytes()
    kinds["a part of the log"].write_bytes(kinds["a backup"].read_bytes())
    kinds["a backup"].write_bytes(part)
    found = " ".join(catalogue.load(place).damage)
    assert "is the manifest of a backup, not of a part of the log" in found
    assert "is the manifest of a part of the log, not of a backup" in found


def test_a_point_before_the_backup_that_was_named_is_said_to_be_that(tmp_path: Path) -> None:
    _, made = lived(Folder(tmp_path))
    with pytest.raises(BackupGap, match="index 5 is before backup 58, which begins at index 58"):
        restoring.plan(made, WantedPoint(index=5, backup="58"))


class Busy(Folder):
    """Others go on there, once, between the names that are read and the sizes."""

    others: Callable[[], object] | None = None

    def sizes(self, folder: str) -> dict[str, int | None]:
        others = self.others
        if others is not None:
            self.others = None
            others()
        return super().sizes(folder)


def test_a_backup_that_a_prune_removes_meanwhile_is_no_damage(tmp_path: Path) -> None:
    place = Busy(tmp_path)
    _, made = lived(place)
    found = catalogue.load(place)
    plan = pruning.plan(found, KeptBackups(last=1), now=3.0)
    assert [each.index for each in plan.backups] == [made.backups[0].index]
    place.others = lambda: pruning.prune(found, plan, lambda *_: None)
    left = catalogue.load(place)
    assert place.others is None
    assert (left.problems, [each.index for each in left.backups]) == ([], [made.backups[1].index])


def test_a_part_that_is_named_and_not_there_stays_one_problem(tmp_path: Path) -> None:
    """Not another one for the part that follows it."""
    _, made = lived(Folder(tmp_path))
    (tmp_path / made.log[1].part.name).unlink()
    (told,) = catalogue.load(Folder(tmp_path)).damage
    assert told == f"{made.log[1].part.name} is missing, a manifest tells of it"
    assert names.log_manifest(made.log[1].part.name) not in told
