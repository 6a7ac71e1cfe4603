"""What is sealed with a sealing key opens with the key behind it alone, and not with itself."""

import json
import shutil
from pathlib import Path
from random import Random

import pytest

from admin.backup import catalogue, keys, manifest, names, pruning, restoring, verifying
from admin.backup.failures import BackupDamaged, BackupKeyRefused
from admin.backup.key_pairs import OpeningKey, SealingKey
from admin.backup.new_cluster import NewNode
from admin.backup.places import Folder
from admin.backup.points import WantedPoint
from admin.backup.pruning import KeptBackups
from admin.backup.sealing import SealedPlace
from admin.doctor import facts
from cli.exits import Exit
from cli.main import run
from qsync.errors import ConfigError
from tests.unit.backups import MadeHistory, begin, derived_once, keep_log, keep_rows, shown_rows

SECRET = "correct horse battery staple"

fast = pytest.fixture(scope="module", autouse=True)(derived_once)


@pytest.fixture(scope="module")
def sealing() -> str:
    return OpeningKey.fresh(SECRET).sealing.text


def history() -> MadeHistory:
    found = MadeHistory(Random(3))
    found.live(60)
    return found


@pytest.fixture(scope="module")
def made(sealing: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place that was written with the sealing key alone; tests that change it take a copy."""
    folder = tmp_path_factory.mktemp("sealed") / "place"
    lived = history()
    middle = lived.clip(lived.last // 2)
    keep_log(begin(SealedPlace(Folder(folder), sealing)), lived, 0, middle)
    found = begin(SealedPlace(Folder(folder), sealing))  # another run goes on
    keep_log(found, lived, 0, lived.last)
    keep_rows(found, lived, middle)
    keep_rows(found, lived, lived.clip(lived.last))
    return folder


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "place")


def opened(folder: Path, secret: str = SECRET) -> SealedPlace:
    return SealedPlace(Folder(folder), secret)


def data(folder: Path) -> list[Path]:
    """All files but manifests."""
    return sorted(
        each for each in folder.rglob("*") if each.suffix in (names.ROWS_SUFFIX, names.LOG_SUFFIX)
    )


def test_the_key_behind_it_verifies_and_restores_all_of_it(made: Path, tmp_path: Path) -> None:
    found = catalogue.load(opened(made))
    assert verifying.verify(found, lambda *_: None).problems == []
    directory = tmp_path / "n1"
    restoring.restore(found, WantedPoint(), NewNode(directory=directory), lambda *_: None)
    lived = history()
    assert shown_rows(directory) == sorted(lived.rows(lived.last).values())


def test_the_sealing_key_lists_and_prunes_and_reads_no_data(copy: Path, sealing: str) -> None:
    place = opened(copy, sealing)
    found = catalogue.load(place)
    assert (len(found.backups), found.damage) == (2, [])
    for each in data(copy):
        with pytest.raises(BackupKeyRefused, match="a sealing key does not open"):
            place.read(each.relative_to(copy).as_posix())
    with pytest.raises(BackupKeyRefused):
        verifying.verify(found, lambda *_: None)
    pruning.prune(found, pruning.plan(found, KeptBackups(last=1), now=0.0), lambda *_: None)
    assert len(catalogue.load(opened(copy, sealing)).backups) == 1
    assert verifying.verify(catalogue.load(opened(copy)), lambda *_: None).problems == []


def test_nothing_that_the_machine_which_backs_up_has_opens_a_part(made: Path, sealing: str) -> None:
    """Whatever of the sealing key is taken for the private half of it."""
    key = SealingKey.parse(sealing)
    assert key is not None
    part = data(made)[0]
    place = opened(made)
    catalogue.load(place)
    name = part.relative_to(made).as_posix()
    assert place.read(name) not in part.read_bytes()
    for secret in (sealing, key.public.hex(), key.manifests.hex()):
        other = OpeningKey(secret, key.salt)
        with pytest.raises(BackupDamaged, match="does not open"):
            other.open(place._salt, name, part.read_bytes())


@pytest.mark.parametrize("change", ["flip", "cut", "empty", "swap", "low order", "forged"])
def test_what_is_done_to_a_part_is_told_with_its_name(
    copy: Path, change: str, sealing: str
) -> None:
    first, *_, last = data(copy)
    content = first.read_bytes()
    name = first.relative_to(copy).as_posix()
    if change == "forged":  # who took the sealing key, and knows of no manifest
        place = opened(copy, sealing)
        catalogue.load(place)
        place.write(name, b"other rows")
    else:
        first.write_bytes(
            {
                "flip": content[:-20] + bytes([content[-20] ^ 1]) + content[-19:],
                "cut": content[:-1],
                "empty": b"",
                "swap": last.read_bytes(),
                "low order": content[:10] + bytes(32) + content[42:],
            }[change]
        )
    told = verifying.verify(catalogue.load(opened(copy)), lambda *_: None).problems
    assert any(name in each for each in told), told


def test_a_part_of_another_place_does_not_open(made: Path, tmp_path: Path, sealing: str) -> None:
    other = begin(opened(tmp_path / "other", sealing))
    keep_log(other, history(), 0, history().last)
    theirs = min((tmp_path / "other").glob("log/*.log"))
    assert (made / "log" / theirs.name).exists()
    place = opened(made)
    catalogue.load(place)
    shutil.copytree(made, tmp_path / "mixed")
    shutil.copy(theirs, tmp_path / "mixed" / "log")
    told = verifying.verify(catalogue.load(opened(tmp_path / "mixed")), lambda *_: None).problems
    assert any(theirs.name in each and "does not open" in each for each in told), told


def test_another_key_is_refused(made: Path, tmp_path: Path, sealing: str) -> None:
    for secret in ("another horse altogether", OpeningKey.fresh(SECRET).sealing.text):
        with pytest.raises(BackupKeyRefused, match="does not open with this key"):
            catalogue.load(opened(made, secret))
    key = SealingKey.parse(sealing)
    assert key is not None
    stranger = OpeningKey.fresh(SECRET).sealing.public
    mixed = SealingKey(salt=key.salt, public=stranger, manifests=key.manifests)
    with pytest.raises(BackupKeyRefused):  # it would seal for somebody else
        catalogue.load(opened(made, mixed.text))
    begin(opened(tmp_path / "one key"))
    with pytest.raises(BackupKeyRefused, match="was not begun with a sealing key"):
        catalogue.load(opened(tmp_path / "one key", sealing))


def test_a_seal_of_another_sealing_key_is_refused(copy: Path, sealing: str) -> None:
    """Somebody has exchanged the salt in the manifest: what was sealed would open no more."""
    path = copy / names.PLACE
    said = json.loads(path.read_bytes())
    salt = said["seal"]["salt"]
    assert (said["seal"]["scheme"], len(salt)) == (2, 128)
    for forged in ("00" * 32 + salt[64:], salt[:64] + "00" * 32, salt[:64], ""):
        members = {key: value for key, value in said.items() if key != "sum"}
        members["seal"] = said["seal"] | {"salt": forged}
        path.write_text(json.dumps(members | {"sum": manifest._sum(members)}))
        for secret in (sealing, SECRET):
            with pytest.raises(BackupKeyRefused, match="does not open with this key"):
                catalogue.load(opened(copy, secret))


def test_a_sealing_key_that_was_changed_is_refused(sealing: str) -> None:
    assert SealingKey.parse(SECRET) is None
    middle = len(sealing) // 2
    other = "A" if sealing[middle] != "A" else "B"
    for wrong in (sealing[:-4], sealing[:middle] + other + sealing[middle + 1 :], sealing + "?"):
        with pytest.raises(ConfigError, match="cut off or changed"):
            SealingKey.parse(wrong)


def test_the_commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    key, file = tmp_path / "backup.key", tmp_path / "backup.seal"
    assert run(["backup", "key", str(key)]) == Exit.DONE
    assert run(["backup", "sealing-key", str(key), str(file)]) == Exit.DONE
    assert file.stat().st_mode & 0o777 == 0o600
    assert run(["backup", "sealing-key", str(key), str(file)]) == Exit.USAGE
    assert "is there already" in capsys.readouterr().err
    assert run(["backup", "sealing-key", str(file), str(tmp_path / "b")]) == Exit.USAGE
    assert "is a sealing key already" in capsys.readouterr().err
    (tmp_path / "short").write_text("short\n")
    code = run(["backup", "sealing-key", str(tmp_path / "short"), str(tmp_path / "b")])
    assert (code, "12 are the least" in capsys.readouterr().err) == (Exit.REFUSED, True)
    place, lived = str(tmp_path / "place"), history()
    found = begin(opened(tmp_path / "place", keys.key_in(file)))
    keep_log(found, lived, 0, lived.last)
    keep_rows(found, lived, lived.clip(lived.last))
    monkeypatch.setenv(keys.KEY_FILE, str(file))
    assert run(["backup", "list", place]) == Exit.DONE
    assert not facts.backups_at(place, age_max=1.0, now=0.0).problem
    capsys.readouterr()
    assert run(["backup", "verify", place]) == Exit.REFUSED
    assert "the key that it was made from" in capsys.readouterr().err
    assert run(["backup", "restore", place, str(tmp_path / "n1")]) == Exit.REFUSED
    assert not (tmp_path / "n1").exists()
    assert run(["backup", "verify", place, "--key-file", str(key)]) == Exit.DONE
    said = ["backup", "restore", place, str(tmp_path / "n1"), "--key-file", str(key)]
    assert run(said) == Exit.DONE
