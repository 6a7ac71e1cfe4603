"""Backups are kept and restored, and the power goes at any step of that."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from admin.backup import catalogue, new_cluster, restoring
from admin.backup.places import Folder
from admin.backup.points import WantedPoint
from qsync.config import NodeConfig
from qsync.directory_files import CONFIG_FILE
from qsync.node.assembly import open_storage
from qsync.store import mark
from tests.disk import traced
from tests.disk.power import Disk, Operation, Said, losses
from tests.unit.backups import MadeHistory, begin, keep_log, keep_rows, shown_rows

CUTS = int(os.environ.get("QSYNC_TEST_POWER_CUTS", "16"))
"""At most so many places are cut at."""
CODE = "from tests.disk.test_backup_power import {name}; {name}({root!r})"
FILES = {
    "qsync-backup.json": b"about",
    "base/00007/000001.rows": b"rows" * 1000,
    "log/00001-00009.log": b"log" * 700,
    "base/00007/backup.json": b"manifest",
}
PLACE, NODE = "backups", "n1"


def operations_of(name: str, root: Path, log: Path) -> list[Operation]:
    """What a process that calls the function of that name here does below `root`."""
    if reason := traced.unusable():
        pytest.skip(reason)
    reader = traced.Reader(root)
    done = traced.run(CODE.format(name=name, root=str(root)), log=log)
    assert done.returncode == 0, done.stderr
    found = reader.read(log)
    # Those who look for libraries say something, too.
    return [each for each in found if not isinstance(each, Said) or each.what in FILES]


def images(
    before: Path, operations: list[Operation], into: Path, *, cuts: int
) -> Iterator[tuple[int, bool]]:
    """What a cut leaves, in `into`; how many steps were said to be done, and whether all were."""
    disk, dice = Disk(before), Random(2)
    kinds, last = losses(dice), len(operations) - 1
    chosen = {*dice.sample(range(len(operations)), min(cuts, len(operations))), last}
    for at, operation in enumerate(operations):
        disk.take(operation)
        if at in chosen or isinstance(operation, Said):
            for kind in (kinds[1], kinds[at % len(kinds)]):
                disk.save(into, kind)
                yield disk.said, at == last
                shutil.rmtree(into)


def fill(root: str) -> None:
    """Write the files of a place, which is made with the first."""
    place = Folder(Path(root) / "of" / PLACE)
    for name, content in FILES.items():
        place.write(name, content)
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()


def test_what_a_place_has_taken_is_there_after_a_power_cut(tmp_path: Path) -> None:
    """With every folder that leads to it: else a finished backup is nowhere."""
    root = tmp_path / "root"
    root.mkdir()
    shutil.copytree(root, tmp_path / "before")
    operations = operations_of("fill", root, tmp_path / "calls")
    image, most = tmp_path / "image", 0
    for said, _ in images(tmp_path / "before", operations, image, cuts=1000):
        for name, content in list(FILES.items())[:said]:
            assert (image / "of" / PLACE / name).read_bytes() == content
        most = max(most, said)
    assert most == len(FILES)


def history() -> MadeHistory:
    made = MadeHistory(Random(11))
    made.live(60)
    return made


def restore(root: str) -> None:
    """Restore the newest point there is."""
    node = new_cluster.NewNode(directory=Path(root) / NODE)
    found = catalogue.load(Folder(Path(root) / PLACE))
    restoring.restore(found, WantedPoint(), node, lambda *_: None)


@pytest.mark.timeout(60 + 4 * CUTS)
def test_a_restore_that_the_power_ended_is_whole_or_is_begun_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, made = tmp_path / "root", history()
    found = begin(Folder(root / PLACE))
    keep_log(found, made, 0, made.last)
    keep_rows(found, made, made.clip(made.last // 2), part_bytes=2000)
    shutil.copytree(root, tmp_path / "before")
    operations = operations_of("restore", root, tmp_path / "calls")
    monkeypatch.setattr(mark, "boot_id", lambda: "another")
    image, whole = tmp_path / "image", 0
    for _, is_last in images(tmp_path / "before", operations, image, cuts=CUTS):
        file = image / NODE / CONFIG_FILE
        was_whole = file.exists()
        if not was_whole:
            restore(str(image))
        with closing(open_storage(NodeConfig.load(file, {}))) as storage:
            assert (storage.quarantined, storage.spaces.rebuilt) == (None, None)
            assert storage.log.start.index == storage.spaces.folded == made.last
            assert storage.directory.path == image / NODE
        assert {row[0]: row for row in shown_rows(image / NODE)} == made.rows(made.last)
        assert was_whole or not is_last
        whole += was_whole
    assert whole
