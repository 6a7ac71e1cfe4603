"""`qsync backup` over a place that is there already: what it says, and how it ends."""

import json
import os
import stat
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest

from admin.backup.backups import Backups
from admin.backup.places import Folder
from admin.certs import looking, making
from cli.exits import Exit
from cli.main import run
from qsync.config import NodeConfig
from qsync.directory_files import UNREADY
from qsync.errors import ConfigError
from qsync.tls.names import Bearer, CertifiedName
from tests.unit.backups import MadeHistory, begin, keep_log, keep_rows


@pytest.fixture
def history(tmp_path: Path) -> MadeHistory:
    """Kept at `place`, with a backup of its first entry on."""
    made = MadeHistory(Random(3))
    made.live(100)
    found = begin(Folder(tmp_path / "place"))
    keep_log(found, made, 0, made.last)
    keep_rows(found, made, 0)
    return made


def told(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def test_a_folder_of_backups_is_its_owner_s_alone(tmp_path: Path, history: MadeHistory) -> None:
    """It has all that is in a node's directory. One that was there before stays as it was.

    Others may look into that one, and not into the files.
    """
    assert history.last
    assert stat.S_IMODE((tmp_path / "place").stat().st_mode) == 0o700
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    shared.chmod(0o755)
    before = os.umask(0)
    try:
        begin(Folder(shared))
    finally:
        os.umask(before)
    assert stat.S_IMODE(shared.stat().st_mode) == 0o755
    files = [each.stat().st_mode for each in shared.rglob("*") if each.is_file()]
    assert {stat.S_IMODE(each) for each in files} == {0o660}


def test_what_is_there_is_listed_and_verified(
    tmp_path: Path, history: MadeHistory, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(tmp_path / "place")
    assert run(["backup", "list", place]) == Exit.DONE
    said = capsys.readouterr()
    assert f"restores to 0..{history.last}" in said.out
    assert run(["backup", "list", place, "--json"]) == Exit.DONE
    found = told(capsys)
    assert found["schema"] == "qsync/backups/1"
    assert run(["backup", "list", place, "--prometheus"]) == Exit.DONE
    samples = [line for line in capsys.readouterr().out.splitlines() if line[0] != "#"]
    assert f'qsync_backups{{place="{place}",uuid="c-1"}} 1' in samples
    assert run(["backup", "verify", place, "--json"]) == Exit.DONE
    found = told(capsys)
    assert (found["whole"], found["entries"]) == (True, history.last)
    part = next(Path(place).glob("log/*.log"))
    part.write_bytes(part.read_bytes()[:-1])
    assert run(["backup", "verify", place]) == Exit.CHECK_FAILED
    assert part.name in capsys.readouterr().out
    assert run(["backup", "restore", place, str(tmp_path / "n1")]) == Exit.CHECK_FAILED
    assert "BACKUP_DAMAGED" in capsys.readouterr().err
    part.unlink()
    assert run(["backup", "verify", place]) == Exit.CHECK_FAILED
    assert f"log/{part.name} is missing" in capsys.readouterr().out


def test_a_restore_says_what_it_does_before_and_after(
    tmp_path: Path, history: MadeHistory, capsys: pytest.CaptureFixture[str]
) -> None:
    place, directory = str(tmp_path / "place"), tmp_path / "n1"
    first, back = next(each for each in history.stretches if each[1] - each[0] > 1)
    command = ["backup", "restore", place, str(directory), "--to-index", str(back - 1)]
    assert run([*command, "--dry-run"]) == Exit.DONE
    said = capsys.readouterr().err
    assert f"would restore index {first - 1} of cluster c-1" in said
    assert f"{first}..{back}: restored is what was before it" in said
    assert not directory.exists()
    assert run([*command, "--listen", "127.0.0.1:3301", "--json"]) == Exit.DONE
    found = told(capsys)
    assert (found["index"], found["asked"], found["origin"]) == (first - 1, back - 1, "c-1")
    assert run(["config", "check", str(directory / "node.yaml")]) == Exit.DONE
    capsys.readouterr()
    assert run(command) == Exit.USAGE
    assert "is not empty" in capsys.readouterr().err


def test_a_dry_run_says_what_is_dropped_and_refuses_what_a_restore_would(
    tmp_path: Path, history: MadeHistory, capsys: pytest.CaptureFixture[str]
) -> None:
    history.write([[17, {"replication.synchro_quorum": "3"}]], [])
    history.confirm()
    found = begin(Folder(tmp_path / "place"))
    keep_log(found, history, 0, history.last)
    command = ["backup", "restore", str(tmp_path / "place"), str(tmp_path / "n1")]
    assert run([*command, "--dry-run"]) == Exit.DONE
    assert "synchro_quorum = 3 fits no single node and would be dropped" in capsys.readouterr().err
    assert run([*command, "--dry-run", "--json"]) == Exit.DONE
    assert told(capsys)["dropped"] == ["replication.synchro_quorum = 3"]
    assert run([*command, "--dry-run", "--set", "peers=1:a@b:1"]) == Exit.USAGE
    assert "a new cluster of one node" in capsys.readouterr().err
    assert run(command) == Exit.DONE
    assert "synchro_quorum = 3 fits no single node and was dropped" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["--to-index", "99999"], Exit.REFUSED, "is not reached"),
        (["--to-time", "1970-01-01"], Exit.REFUSED, "nothing was confirmed up to"),
        (["--to-time", "yesterday"], Exit.USAGE, "is no time, such as"),
        (["--to-time", "2026-01-01", "--to-index", "1"], Exit.USAGE, "name two points"),
        (["--backup", "17"], Exit.USAGE, "there is no backup 17"),
        (["--set", "peers=1:a@b:1"], Exit.USAGE, "a new cluster of one node"),
        (["--listen", "nowhere"], Exit.USAGE, "listen"),
    ],
)
def test_what_cannot_be_restored_is_refused_in_words(
    tmp_path: Path,
    history: MadeHistory,
    capsys: pytest.CaptureFixture[str],
    args: list[str],
    code: Exit,
    said: str,
) -> None:
    assert history.last
    directory = tmp_path / "n1"
    assert run(["backup", "restore", str(tmp_path / "place"), str(directory), *args]) == code
    assert said in capsys.readouterr().err
    assert not directory.exists(), "nothing was changed"


def test_a_moment_behind_all_that_is_kept_is_restored_with_a_word(
    tmp_path: Path, history: MadeHistory, capsys: pytest.CaptureFixture[str]
) -> None:
    """Later entries that were not archived are lost, and nobody should take them for restored."""
    command = ["backup", "restore", str(tmp_path / "place"), str(tmp_path / "n1"), "--dry-run"]
    youngest = max(each.time for each in history.log)
    ends = datetime.fromtimestamp(youngest, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert run([*command, "--to-time", "2100-01-01"]) == Exit.DONE
    assert f"the log that is kept ends at {ends}: what was confirmed between then and that" in (
        capsys.readouterr().err
    )
    assert run([*command, "--to-time", "2100-01-01", "--json"]) == Exit.DONE
    assert told(capsys)["short_of"] == youngest
    assert run(command) == Exit.DONE
    assert "the log that is kept ends" not in capsys.readouterr().err


def test_who_starts_what_is_half_restored_is_told_to_repeat_that(
    tmp_path: Path, history: MadeHistory, capsys: pytest.CaptureFixture[str]
) -> None:
    assert history.last
    directory = tmp_path / "n1"
    directory.mkdir()
    (directory / UNREADY).write_text("{}\n", "utf-8")
    assert run(["start", str(directory)]) == Exit.USAGE
    assert "repeat that command" in capsys.readouterr().err
    assert run(["backup", "restore", str(tmp_path / "place"), str(directory)]) == Exit.DONE


def test_an_authority_certifies_the_restored_node_and_its_administrator(
    tmp_path: Path, history: MadeHistory, capsys: pytest.CaptureFixture[str]
) -> None:
    assert history.last
    directory, certs = tmp_path / "n1", tmp_path / "certs"
    command = ["backup", "restore", str(tmp_path / "place"), str(directory), "--ca-dir", str(certs)]
    assert run(command) == Exit.USAGE
    assert "has to be signed" in capsys.readouterr().err
    assert not directory.exists()
    making.make_authority(certs, name="shop")
    assert run(command) == Exit.DONE
    said = capsys.readouterr().err
    assert "root.crt for the user root" in said
    assert f" --secure --ca-dir {certs}" in said
    config = NodeConfig.load(directory / "node.yaml", {})
    assert config.tls.certificate == directory / "tls/node.crt"
    (own,) = looking.look(directory / "tls/node.crt")
    assert own.names == (CertifiedName(config.cluster.id, Bearer.NODE, config.node.name),)
    (shown,) = looking.look(directory / "tls/root.crt")
    assert shown.names == (CertifiedName(config.cluster.id, Bearer.USER, "root"),)


def test_a_place_without_backups_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("list", "verify"):
        assert run(["backup", command, str(tmp_path / "none")]) == Exit.USAGE
        assert "holds no backups of qsync" in capsys.readouterr().err
    assert run(["backup", "create", str(tmp_path / "new"), "-t", "127.0.0.1:1"]) == Exit.NO_NODE
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_moment_that_utc_has_no_date_for_is_before_or_behind_all(
    tmp_path: Path, history: MadeHistory, time: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert history.last
    command = ["backup", "restore", str(tmp_path / "place"), str(tmp_path / "n1"), "--dry-run"]
    ended = run([*command, "--to-time", time])
    said = capsys.readouterr().err
    if time.startswith("0"):
        assert (ended, "s since 1970 is before the oldest backup" in said) == (Exit.REFUSED, True)
    else:
        assert (ended, "the log that is kept ends at" in said) == (Exit.DONE, True)


@pytest.mark.parametrize(
    ("option", "said"),
    [(["--rate", "0B"], "'0B' is below 1KiB"), (["--every", "0s"], "'0s' is below 10ms")],
)
def test_a_backup_that_would_never_end_or_never_rest_is_refused(
    tmp_path: Path, option: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["backup", "archive", str(tmp_path / "place"), *option]) == Exit.USAGE
    assert said in capsys.readouterr().err
    with pytest.raises(ConfigError, match="would never end"):
        Backups(str(tmp_path)).create("127.0.0.1:1", rate=0)
