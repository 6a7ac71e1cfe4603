"""A sealed place opens only with its key, and detects changes made without it."""

import errno
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from admin.backup import catalogue, keys, manifest, names, restoring, verifying
from admin.backup.catalogue import Catalogue
from admin.backup.deriving import SECRET_CHARS_MIN
from admin.backup.failures import BackupDamaged, BackupKeyRefused
from admin.backup.manifest import PlaceManifest
from admin.backup.new_cluster import NewNode
from admin.backup.places import Folder, open_place
from admin.backup.points import WantedPoint
from admin.backup.sealing import SealedPlace
from admin.doctor import facts
from cli.exits import Exit
from cli.main import run
from qsync import audit
from qsync.config import NodeConfig
from qsync.errors import ConfigError, WrongFormat
from tests.unit.backups import (
    CLUSTER,
    MadeHistory,
    begin,
    derived_once,
    keep_log,
    keep_rows,
    shown_rows,
)

SECRET = "correct horse battery staple"

fast = pytest.fixture(scope="module", autouse=True)(derived_once)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sealed place; tests that change it take a copy."""
    folder = tmp_path_factory.mktemp("sealed") / "place"
    history = MadeHistory(Random(3))
    history.live(60)
    found = begin(SealedPlace(Folder(folder), SECRET))
    keep_log(found, history, 0, history.last)
    keep_rows(found, history, history.clip(history.last // 2))
    keep_rows(found, history, history.clip(history.last))
    return folder


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "place")


def opened(folder: Path, secret: str = SECRET) -> SealedPlace:
    return SealedPlace(Folder(folder), secret)


def problems(folder: Path) -> list[str]:
    return verifying.verify(catalogue.load(opened(folder)), lambda *_: None).problems


def files(folder: Path) -> list[Path]:
    """All that are sealed."""
    return sorted(p for p in folder.rglob("*") if p.is_file() and p.name != names.PLACE)


def test_with_its_key_all_of_it_is_whole_and_can_be_restored(made: Path, tmp_path: Path) -> None:
    assert problems(made) == []
    clear = begin(Folder(tmp_path / "clear"))
    history = MadeHistory(Random(3))
    history.live(60)
    keep_log(clear, history, 0, history.last)
    keep_rows(clear, history, history.clip(history.last))
    rows = []
    for number, found in enumerate((catalogue.load(opened(made)), clear)):
        directory = tmp_path / f"n{number}"
        restoring.restore(found, WantedPoint(), NewNode(directory=directory), lambda *_: None)
        rows.append(shown_rows(directory))
        (line,) = audit.lines_of(audit.files_of(directory))
        said = audit.fields_of(line[1])
        assert (said["event"], said["cluster"], said["address"]) == ("restored", CLUSTER, "local")
    assert rows[0] == rows[1] != []
    made_known = {NodeConfig.load(tmp_path / f"n{n}/node.yaml", {}).secret.text for n in (0, 1)}
    assert len(made_known - {""}) == 2, "each is a new cluster, with a secret of its own"


def test_no_file_of_it_holds_what_it_seals(made: Path) -> None:
    place = opened(made)
    catalogue.load(place)
    compared = 0
    for each in files(made):
        clear = place.read(each.relative_to(made).as_posix())
        there = each.read_bytes()
        assert len(there) > len(clear) > 0
        for at in range(0, len(clear) - 16, 16):
            assert clear[at : at + 16] not in there
            compared += 1
    assert compared > 100
    everything = b"".join(each.read_bytes() for each in files(made))
    assert b'"node"' not in everything
    assert SECRET.encode() not in everything + (made / names.PLACE).read_bytes()


def test_the_same_content_is_never_sealed_the_same_way(tmp_path: Path) -> None:
    place = opened(tmp_path)
    place.begin_seal(CLUSTER)
    place.write("a", b"x" * 100)
    first = (tmp_path / "a").read_bytes()
    place.write("a", b"x" * 100)
    assert (tmp_path / "a").read_bytes() != first


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda a, _b: a.write_bytes(a.read_bytes()[:-1]), "does not open"),
        (lambda a, _b: a.write_bytes(a.read_bytes()[:30]), "is not sealed, or not whole"),
        (lambda a, _b: a.write_bytes(b""), "is not sealed, or not whole"),
        (lambda a, b: a.write_bytes(b.read_bytes()), "put there instead of another"),
        (lambda a, _b: a.write_bytes(_flipped(a.read_bytes(), 15)), "does not open"),
        (lambda a, _b: a.write_bytes(_flipped(a.read_bytes(), -20)), "does not open"),
    ],
    ids=["cut", "only a head", "empty", "swapped", "salt", "content"],
)
@pytest.mark.parametrize("suffix", [names.ROWS_SUFFIX, names.LOG_SUFFIX, names.MANIFEST_SUFFIX])
def test_what_is_done_to_a_file_is_told_with_its_name(
    copy: Path, suffix: str, change: Callable[[Path, Path], object], says: str
) -> None:
    found = [each for each in files(copy) if each.suffix == suffix]
    size = found[0].stat().st_size
    change(found[0], found[-1])
    if suffix != names.MANIFEST_SUFFIX:
        place = opened(copy)
        catalogue.load(place)
        with pytest.raises(BackupDamaged, match=says):
            place.read(found[0].relative_to(copy).as_posix())
        if found[0].stat().st_size != size:
            says = "bytes and not"
    told = problems(copy)
    assert any(found[0].name in each and says in each for each in told), told


def _flipped(content: bytes, at: int) -> bytes:
    found = bytearray(content)
    found[at] ^= 1
    return bytes(found)


def test_a_file_of_another_place_with_the_same_key_does_not_open(
    made: Path, copy: Path, tmp_path: Path
) -> None:
    """Each place has a salt of its own, so an older copy of it cannot be mixed with a new one."""
    history = MadeHistory(Random(3))
    history.live(60)
    other = begin(opened(tmp_path / "other"))
    keep_log(other, history, 0, history.last)
    theirs = next((tmp_path / "other").glob("log/*.log"))
    assert (made / "log" / theirs.name).exists()
    shutil.copy(theirs, copy / "log")
    assert any(theirs.name in each for each in problems(copy))


def test_a_wrong_key_says_so_and_so_does_none(made: Path) -> None:
    with pytest.raises(BackupKeyRefused, match="does not open with this key"):
        catalogue.load(opened(made, "another horse altogether"))
    with pytest.raises(BackupKeyRefused, match="is sealed: it takes a key"):
        catalogue.load(Folder(made))
    with pytest.raises(BackupKeyRefused, match="is sealed"):
        catalogue.load_or_begin(Folder(made), CLUSTER)


def test_who_brings_a_key_takes_and_writes_nothing_in_the_clear(copy: Path) -> None:
    """Somebody has taken the seal off the manifest, which has no key: neither side goes on."""
    (copy / names.PLACE).write_bytes(manifest.encode(PlaceManifest(cluster=CLUSTER)))
    for use in (catalogue.load, lambda place: catalogue.load_or_begin(place, CLUSTER)):
        with pytest.raises(BackupKeyRefused, match="is not sealed, and a key was given"):
            use(opened(copy))
    assert catalogue.load(Folder(copy)).damage


def test_a_seal_is_of_its_cluster_and_of_a_known_scheme(copy: Path) -> None:
    path = copy / names.PLACE
    about = manifest.decode(PlaceManifest, names.PLACE, path.read_bytes())
    assert about.seal is not None
    said = json.loads(path.read_bytes())
    assert (said["format"], len(said["seal"]["salt"])) == (manifest.SEALED_FORMAT, 64)
    path.write_bytes(manifest.encode(PlaceManifest(cluster="c-2", format=2, seal=about.seal)))
    with pytest.raises(BackupKeyRefused, match="does not open"):
        catalogue.load(opened(copy))
    for change, error in (
        ({"scheme": 3}, WrongFormat),
        ({"scheme": 2}, BackupKeyRefused),
        ({"salt": "00"}, BackupKeyRefused),
        ({"salt": "no hex"}, BackupKeyRefused),
        ({"check": "00"}, BackupKeyRefused),
        ({"more": 1}, BackupDamaged),
    ):
        forged = json.loads(json.dumps({k: v for k, v in said.items() if k != "sum"}))
        forged["seal"] |= change
        forged["sum"] = manifest._sum(forged)  # whoever forges it can do that
        path.write_text(json.dumps(forged))
        with pytest.raises(error):
            catalogue.load(opened(copy))


def test_a_short_key_seals_nothing(tmp_path: Path) -> None:
    with pytest.raises(BackupKeyRefused, match=f"{SECRET_CHARS_MIN} are the least"):
        begin(opened(tmp_path / "place", "x" * (SECRET_CHARS_MIN - 1)))
    begin(opened(tmp_path / "place", "x" * SECRET_CHARS_MIN))


def test_the_commands_take_the_key_from_a_file_or_the_environment(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place, file = str(made), tmp_path / "backup.key"
    assert run(["backup", "list", place]) == Exit.REFUSED
    assert "BACKUP_KEY" in capsys.readouterr().err
    assert run(["backup", "key", str(file)]) == Exit.DONE
    assert file.stat().st_mode & 0o777 == 0o600
    assert run(["backup", "key", str(file)]) == Exit.USAGE
    assert "is there already" in capsys.readouterr().err
    assert run(["backup", "verify", place, "--key-file", str(file)]) == Exit.REFUSED
    assert "does not open with this key" in capsys.readouterr().err
    file.write_text(f"{SECRET}\n")
    assert run(["backup", "verify", place, "--key-file", str(file)]) == Exit.DONE
    assert run(["backup", "restore", place, str(tmp_path / "n"), "--key-file", str(file)]) == 0
    monkeypatch.setenv(keys.KEY_FILE, str(file))
    capsys.readouterr()
    assert run(["backup", "list", place, "--json"]) == Exit.DONE
    assert json.loads(capsys.readouterr().out)["sealed"] is True
    assert not facts.backups_at(place, age_max=1.0, now=0.0).problem
    monkeypatch.delenv(keys.KEY_FILE)
    assert "sealed" in facts.backups_at(place, age_max=1.0, now=0.0).problem
    monkeypatch.setenv(keys.KEY, SECRET)
    assert run(["backup", "verify", place]) == Exit.DONE
    assert run(["backup", "verify", place, "--ask-key"]) == Exit.USAGE
    assert "this is no terminal" in capsys.readouterr().err
    said = run(["backup", "verify", place, "--ask-key", "--key-file", str(file)])
    assert (said, "two keys" in capsys.readouterr().err) == (Exit.USAGE, True)


def test_a_file_without_a_key_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key"
    for content, says in ((b"\n", "is empty"), (b"\xff\xfe", "no text"), (b"x" * 5000, "4096")):
        path.write_bytes(content)
        with pytest.raises(ConfigError, match=says):
            keys.key_in(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        keys.key_in(tmp_path / "none")


class Contested(Folder):
    """Somebody else begins there after it was found to be empty."""

    first: Catalogue | None = None

    def folders(self, folder: str) -> list[str]:
        found = super().folders(folder)
        if self.first is None:
            self.first = begin(SealedPlace(Folder(self._path), SECRET))
        return found


def test_of_two_that_begin_a_place_at_once_both_use_the_same_seal(tmp_path: Path) -> None:
    """Else nobody could open what the first one of them keeps there."""
    history = MadeHistory(Random(5))
    history.live(20)
    contested = Contested(tmp_path)
    later, first = begin(SealedPlace(contested, SECRET)), contested.first
    assert first is not None
    keep_log(first, history, 0, history.last)
    keep_rows(first, history, history.last)
    keep_rows(later, history, 0)
    assert [each.index for each in catalogue.load(opened(tmp_path)).backups] == [0, history.last]
    assert problems(tmp_path) == []
    assert [each.name for each in tmp_path.iterdir() if each.is_file()] == [names.PLACE]


def no_links(self: Path, target: Path) -> None:
    raise PermissionError(errno.EPERM, "Operation not permitted", str(self), None, str(target))


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("url", ["memory://new-files", "FOLDER"])
def test_a_file_that_is_new_replaces_none(
    tmp_path: Path, url: str, links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not links:  # as on a share, or a stick
        monkeypatch.setattr(Path, "hardlink_to", no_links)
    place = open_place(str(tmp_path / "place") if url == "FOLDER" else url)
    place.remove("a")
    assert place.write_new("a", b"one")
    assert not place.write_new("a", b"other")
    assert (place.read("a"), place.names("")) == (b"one", ["a"])
