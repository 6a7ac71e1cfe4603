"""One process, one format, one identity; and the archive of what was cut."""

import json
import os
import stat
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from election.messages import Replica
from qsync import record
from qsync.errors import (
    ConfigError,
    Damaged,
    DirectoryLocked,
    DiskFull,
    StoreError,
    WrongFormat,
)
from qsync.store import archive, mark
from qsync.store.contract import Identity
from qsync.store.directory import Directory, is_formatted
from qsync.store.identity import FORMAT_TRIMMED
from qsync.store.private import make_private, write_private
from tests.unit.logs import CHILD, ME, ROOT, child, lmdb_log, recovered, some, write
from tests.unit.test_receiving import files_end_at


def test_a_fresh_directory_is_formatted_once_and_known_again(tmp_path: Path) -> None:
    path = tmp_path / "n1"
    with Directory(path, wanted=replace(ME, instance="")) as first:
        assert first.fresh
        identity = first.identity
        assert len(identity.instance) == 36
    with Directory(path, wanted=replace(ME, instance="")) as again:
        assert not again.fresh
        assert again.identity == identity
        assert (again.log, again.data) == (path / "log", path / "data")
        assert again.probe() > 0


def test_what_can_be_no_directory_is_told_where_one_is_looked_for(tmp_path: Path) -> None:
    assert not is_formatted(tmp_path / "new")
    assert not is_formatted(tmp_path)
    Directory(tmp_path / "n1", wanted=ME).close()
    assert is_formatted(tmp_path / "n1")
    file = tmp_path / "file"
    file.write_text("in the way")
    with pytest.raises(StoreError, match="Not a directory"):
        is_formatted(file)
    with pytest.raises(StoreError, match="Not a directory"):
        is_formatted(file / "n1")


def test_other_users_of_the_machine_look_into_no_node_s_directory(tmp_path: Path) -> None:
    """Rows, what passwords are checked by and perhaps a secret are in it."""
    new, open_to_all, of_a_group = tmp_path / "new" / "n1", tmp_path / "open", tmp_path / "group"
    for path, mode in ((open_to_all, 0o755), (of_a_group, 0o2770)):
        path.mkdir()
        path.chmod(mode)
    for path, kept in ((new, 0o700), (open_to_all, 0o750), (of_a_group, 0o2770)):
        Directory(path, wanted=ME).close()
        assert stat.S_IMODE(path.stat().st_mode) == kept
    make_private(new)
    assert stat.S_IMODE(new.stat().st_mode) == 0o700


def test_a_node_may_get_another_name(tmp_path: Path) -> None:
    Directory(tmp_path, wanted=ME).close()
    Directory(tmp_path, wanted=replace(ME, name="other")).close()
    assert json.loads((tmp_path / "identity.json").read_text())["name"] == "other"


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        (replace(ME, cluster="c-2"), "belongs to cluster c-1, the configuration says c-2"),
        (replace(ME, replica=Replica(2)), "belongs to replica 1, the configuration says 2"),
        (replace(ME, instance="i-2"), "belongs to instance i-1, the configuration says i-2"),
    ],
)
def test_another_nodes_directory_is_refused(tmp_path: Path, wanted: Identity, says: str) -> None:
    Directory(tmp_path, wanted=ME).close()
    with pytest.raises(ConfigError, match=says):
        Directory(tmp_path, wanted=wanted)
    Directory(tmp_path, wanted=ME).close()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"format": 99}', "has format 99, this release knows 4"),
        ('{"format": 3}', "is incomplete"),
        ("[1]", "names no format"),
        ("not json", "names no format"),
        ("[" * 100_000, "names no format"),
        ('{"format": 3, "cluster": "", "instance": "", "replica": Infinity}', "is incomplete"),
    ],
)
def test_a_foreign_format_is_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "identity.json").write_text(text)
    with pytest.raises(WrongFormat, match=says):
        Directory(tmp_path, wanted=ME)


def test_bytes_that_are_no_text_are_a_foreign_format(tmp_path: Path) -> None:
    (tmp_path / "identity.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(WrongFormat, match="is not text"):
        Directory(tmp_path, wanted=ME)


def test_data_without_an_identity_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    with pytest.raises(WrongFormat, match=r"holds data but no identity\.json"):
        Directory(tmp_path, wanted=ME)


def test_a_second_process_is_refused_by_the_first_ones_id(tmp_path: Path) -> None:
    code = """
        from pathlib import Path
        from tests.unit.logs import ME
        from qsync.store.directory import Directory, is_formatted
        from qsync.store.identity import FORMAT_TRIMMED
        with Directory(Path(sys.argv[1]), wanted=ME):
            print("mine", flush=True)
            sys.stdin.read()
        """
    text = CHILD.format(root=str(ROOT)) + textwrap.dedent(code)
    command = [sys.executable, "-c", text, str(tmp_path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "mine\n"
        with pytest.raises(DirectoryLocked, match=f"process {process.pid} runs on") as caught:
            Directory(tmp_path, wanted=ME)
        assert caught.value.details["pid"] == str(process.pid)
        process.communicate("")
    Directory(tmp_path, wanted=ME).close()


def test_a_process_that_was_killed_leaves_no_lock(tmp_path: Path) -> None:
    child(
        """
        import os, signal
        from pathlib import Path
        from tests.unit.logs import ME
        from qsync.store.directory import Directory, is_formatted
        from qsync.store.identity import FORMAT_TRIMMED
        if os.fork() == 0:
            directory = Directory(Path(sys.argv[1]), wanted=ME)
            os.kill(os.getpid(), signal.SIGKILL)
        os.wait()
        """,
        tmp_path,
    )
    Directory(tmp_path, wanted=ME).close()


def test_a_file_in_the_way_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "n1").write_text("not a directory")
    with pytest.raises(StoreError, match="File exists"):
        Directory(tmp_path / "n1", wanted=ME)
    with pytest.raises(StoreError):
        Directory(Path("/proc/qsync"), wanted=ME)
    (tmp_path / "log").write_text("not a directory")
    with pytest.raises(StoreError):
        lmdb_log(tmp_path)


@pytest.mark.parametrize("room", [0, 1, 100])
def test_a_full_disk_leaves_the_identity_that_is_stored(tmp_path: Path, room: int) -> None:
    """A part of a new one would be none: nobody could start the node any more."""
    with Directory(tmp_path, wanted=replace(ME, instance="")) as directory:
        stored = (tmp_path / "identity.json").read_bytes()
        assert len(stored) > room
        with files_end_at(room):
            with pytest.raises(DiskFull):
                directory.raise_format(FORMAT_TRIMMED)
            with pytest.raises(DiskFull):
                directory.renew_instance()
        assert directory.identity.instance in stored.decode()
        assert (tmp_path / "identity.json").read_bytes() == stored
        directory.raise_format(FORMAT_TRIMMED)
    with Directory(tmp_path, wanted=replace(ME, instance="")) as directory:
        assert directory.format == FORMAT_TRIMMED


def test_a_full_disk_leaves_a_private_file_and_nothing_beside_it(tmp_path: Path) -> None:
    """No second file with a part of a secret, under a name that nobody looks for."""
    write_private(tmp_path / "secret", b"former")
    with files_end_at(3), pytest.raises(OSError, match="too large"):
        write_private(tmp_path / "secret", b"another one")
    (file,) = tmp_path.iterdir()
    assert file.read_bytes() == b"former"


@pytest.mark.parametrize("room", [0, 3])
def test_a_full_disk_leaves_the_mark_that_is_there(tmp_path: Path, room: int) -> None:
    mark.write(tmp_path / mark.MARK, mark.CLEAN)
    with files_end_at(room), pytest.raises(DiskFull):
        mark.write(tmp_path / mark.MARK, mark.DIRTY)
    assert mark.read(tmp_path / mark.MARK) == mark.CLEAN


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user to be")
def test_a_directory_that_may_not_be_written_is_said_so(tmp_path: Path) -> None:
    answer = child(
        """
        import os
        from pathlib import Path
        from tests.unit.logs import ME
        from qsync.errors import StoreError
        from qsync.store.directory import Directory, is_formatted
        from qsync.store.identity import FORMAT_TRIMMED
        os.seteuid(65534)
        try:
            Directory(Path(sys.argv[1]) / "n1", wanted=ME)
        except StoreError as error:
            print(error)
        """,
        tmp_path,
    )
    assert "cannot be written" in answer
    assert "must own the directory" in answer


# --------------------------------------------------------------------------------- the archive


def test_cut_tails_are_exported_and_read_back(tmp_path: Path) -> None:
    with recovered(tmp_path) as (log, _):
        made = some(5)
        log.write(write(made))
        log.write(write(cut_above=2))
        tails = log.archived()
    paths = archive.export(tails, tmp_path / "archive")
    assert [path.name for path in paths] == ["1-3-5-1.tail"]
    assert archive.export(tails, tmp_path / "archive") == paths
    assert [archive.load(path) for path in paths] == tails
    assert record.decode(archive.load(paths[0]).raw) == made[2:]


def test_a_torn_export_is_damage(tmp_path: Path) -> None:
    (tmp_path / "1-3-5-1.tail").write_bytes(b"short")
    with pytest.raises(Damaged, match="archived tail 1 is torn"):
        archive.load(tmp_path / "1-3-5-1.tail")
