"""A log in LMDB becomes segments at the first start, whole, wherever a kill or power cut comes."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random

import lmdb
import pytest

from election.messages import Index
from qsync.record import Entry
from qsync.store.contract import RecoveredLog, Tail
from qsync.store.directory import Directory
from qsync.store.identity import FORMAT, FORMAT_WITH_LMDB
from qsync.store.opening import is_log_missing, open_log, upgrade
from tests.disk import traced
from tests.disk.former import BALLOT, former_directory
from tests.disk.power import Disk, losses
from tests.unit.logs import ME, some, write

CUTS = int(os.environ.get("QSYNC_TEST_POWER_CUTS", "400")) // 2

CODE = """
from pathlib import Path
from tests.disk.test_upgrade import start
start(Path({path!r}))
"""


def start(path: Path) -> tuple[RecoveredLog, list[Entry], list[Tail]]:
    """What a node does with its log when it starts, and what it finds."""
    with Directory(path, wanted=ME) as directory:
        assert not is_log_missing(directory)
        log = open_log(directory)
        log.recover()
        log = upgrade(directory, log)
        with closing(log):
            found = log.recover()
            return found, log.entries(Index(1), found.last), log.archived()


def test_a_former_log_is_whole_after_the_upgrade_and_takes_writes(tmp_path: Path) -> None:
    entries, tails = former_directory(tmp_path)
    for _ in range(2):
        found, held, archived = start(tmp_path)
        assert (held, archived) == (entries, tails)
        assert (found.ballot, found.confirmed, found.quarantined) == (BALLOT, 31, None)
    assert json.loads((tmp_path / "identity.json").read_text())["format"] == FORMAT
    assert not list((tmp_path / "log").glob("*.mdb"))
    with Directory(tmp_path, wanted=ME) as directory, closing(open_log(directory)) as log:
        log.recover()
        log.write(write(some(2, after=entries[-1], term=8)))
        assert log.last == 37


def test_whoever_only_reads_a_former_directory_leaves_it_as_it_is(tmp_path: Path) -> None:
    entries, _ = former_directory(tmp_path)
    with Directory(tmp_path, wanted=replace(ME, name="other")) as directory:
        with closing(open_log(directory)) as log:
            assert log.recover().last == len(entries)
        assert directory.format == FORMAT_WITH_LMDB
    assert (tmp_path / "log" / "data.mdb").exists()
    assert not list((tmp_path / "log").glob("*.log"))


def test_a_damaged_former_log_starts_over_before_it_is_upgraded(tmp_path: Path) -> None:
    former_directory(tmp_path)
    with lmdb.open(str(tmp_path / "log"), max_dbs=8) as env:
        batches = env.open_db(b"batches")
        with env.begin(write=True) as txn:
            assert txn.delete((5).to_bytes(8, "big"), db=batches)
    with Directory(tmp_path, wanted=ME) as directory:
        log = open_log(directory)
        assert "was durable" in str(log.recover().quarantined)
        log.start_over(why="told")
        log.recover()
        with closing(upgrade(directory, log)) as log:
            found = log.recover()
    assert (found.last, found.quarantined) == (0, None)
    assert found.ballot == replace(BALLOT, member=False)
    assert (tmp_path / "log.damaged-1" / "data.mdb").exists()


@pytest.fixture
def image(tmp_path: Path) -> Iterator[Path]:
    memory = Path("/dev/shm")
    folder = memory if os.access(memory, os.W_OK) else tmp_path
    own = Path(tempfile.mkdtemp(prefix="qsync-test-", dir=folder))
    yield own / "image"
    shutil.rmtree(own)


@pytest.mark.timeout(60 + CUTS)
def test_no_kill_or_power_cut_during_the_upgrade_loses_anything(
    tmp_path: Path, image: Path
) -> None:
    if reason := traced.unusable():
        pytest.skip(reason)
    root = tmp_path / "root"
    root.mkdir()
    entries, tails = former_directory(root / "n")
    reader, disk = traced.Reader(root), Disk(root)
    done = traced.run(CODE.format(path=str(root / "n")), log=tmp_path / "calls")
    assert done.returncode == 0, done.stderr
    operations = list(reader.read(tmp_path / "calls"))
    dice = Random(1)
    kinds = losses(dice)
    where = sorted(dice.randrange(len(operations)) for _ in range(CUTS))
    formats: set[int] = set()
    for at, operation in enumerate(operations):
        disk.take(operation)
        for number in range(where.count(at)):
            disk.save(image, kinds[(at + number) % len(kinds)])
            formats.add(json.loads((image / "n" / "identity.json").read_text())["format"])
            found, held, archived = start(image / "n")
            assert (held, archived) == (entries, tails)
            assert (found.ballot, found.confirmed) == (BALLOT, 31)
            assert (found.quarantined, found.dropped_tail) == (None, 0)
            shutil.rmtree(image)
    assert formats == {FORMAT, FORMAT_WITH_LMDB}
