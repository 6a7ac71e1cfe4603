"""A snapshot is received and installed, and the power goes at any step of that."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from election.messages import Index
from qsync.config import NodeConfig
from qsync.core.logstart import EMPTY
from qsync.errors import Damaged
from qsync.node.assembly import NodeStorage, found_cluster, open_storage
from qsync.store import mark
from qsync.store.receiving import INCOMING, ReceivedSnapshot
from qsync.store.snapfiles import read_snapshot, snapshot_files, verify_snapshot, write_snapshot
from qsync.store.spaces import SpaceStore
from tests.disk import traced
from tests.disk.life import Fold
from tests.disk.power import Disk, Flushed, Operation, losses
from tests.unit.logs import some, start_behind, write

CUTS = int(os.environ.get("QSYNC_TEST_POWER_CUTS", "16"))
"""At most so many places are cut at."""
CODE = "from tests.disk.test_installing import install; install({root!r})"
LAST, FOLDED, CONFIRMED, SNAPSHOT = 30, 20, 25, 200
NODE, SENT = "n", "sent"


def config(root: Path) -> NodeConfig:
    return NodeConfig.loads(
        f"node: {{id: 1, name: n1, dir: {root / NODE}}}\nlisten: 127.0.0.1:0\n"
        "store: {map_size: 1MiB}\n"
    )


def rows(count: int, seed: int) -> list[tuple[bytes, bytes]]:
    dice = Random(seed)
    return [(b"%04d" % number, dice.randbytes(300)) for number in range(count)]


def make(root: Path) -> None:
    """A node with a log and rows, and beside it a snapshot that is ahead of all it has."""
    mine = config(root)
    found_cluster([mine])
    storage = open_storage(mine)
    storage.log.write(write(some(LAST), confirmed=CONFIRMED))
    storage.spaces.fold(Fold(folded=Index(FOLDED), puts=rows(50, 1), deletes=[]))
    storage.close()
    source = SpaceStore(root / SENT / "data", map_size=1 << 20)
    source.fold(Fold(folded=Index(SNAPSHOT), puts=rows(60, 2), deletes=[]))
    view = source.view()
    with pytest.MonkeyPatch.context() as small:
        small.setattr("qsync.store.snapshot.CHUNK_BYTES", 6_000)
        write_snapshot(root / SENT, view, start_behind(some(SNAPSHOT, term=50)[-1]))
    view.close()
    source.close()


def install(root: str) -> None:
    """What a node does with a snapshot, step by step."""
    storage = open_storage(config(Path(root)))
    take(storage, Path(root))
    storage.close()


def take(storage: NodeStorage, root: Path) -> None:
    (file,) = snapshot_files(root / SENT)
    head, chunks = read_snapshot(file.path)
    received = ReceivedSnapshot(storage.spaces, storage.snapshots, head)
    if not received.is_whole:
        for chunk in list(chunks)[received.taken :]:
            received.take_chunk(chunk)
        received.finish()
    storage.log.begin_at(head.start)
    storage.spaces.install(received.rows)


@contextmanager
def opened(image: Path, *, power_cut: bool) -> Iterator[NodeStorage]:
    with pytest.MonkeyPatch.context() as another:
        if power_cut:
            another.setattr(mark, "boot_id", lambda: "another")
        storage = open_storage(config(image))
        try:
            yield storage
        finally:
            storage.close()


def is_installed(storage: NodeStorage) -> bool:
    """Is all as it was, or all as it is to be?"""
    assert storage.quarantined is None
    assert storage.recovered.ballot.member
    if storage.log.start == EMPTY:
        assert storage.recovered.last == LAST
        assert storage.spaces.folded in {0, FOLDED}
        return False
    assert (storage.log.start.index, storage.log.last) == (SNAPSHOT, SNAPSHOT)
    assert storage.spaces.folded == SNAPSHOT
    (file,) = snapshot_files(storage.directory.path / "snap")
    assert verify_snapshot(file.path).sums == storage.spaces.sums
    assert not list((storage.directory.path / "snap").glob(f"*{INCOMING}"))
    return True


def look(image: Path, *, power_cut: bool) -> bool:
    """Open, and go on to the end where it did not come to that; had it?"""
    with opened(image, power_cut=power_cut) as storage:
        was = is_installed(storage)
        if not was:
            take(storage, image)
            assert is_installed(storage)
    with opened(image, power_cut=power_cut) as storage:
        assert is_installed(storage)
    return was


Traced = tuple[Path, list[Operation]]
"""The directory as it was before, and what was done to it."""


def traced_install(tmp_path: Path) -> Traced:
    if reason := traced.unusable():
        pytest.skip(reason)
    root = tmp_path / "root"
    root.mkdir()
    make(root)
    shutil.copytree(root, tmp_path / "before")
    reader = traced.Reader(root)
    done = traced.run(CODE.format(root=str(root)), log=tmp_path / "calls")
    assert done.returncode == 0, done.stderr
    return tmp_path / "before", list(reader.read(tmp_path / "calls"))


@pytest.fixture
def image(tmp_path: Path) -> Iterator[Path]:
    """In memory where that can be: what is flushed there is lost with the test."""
    memory = Path("/dev/shm")
    folder = memory if os.access(memory, os.W_OK) else tmp_path
    own = Path(tempfile.mkdtemp(prefix="qsync-test-", dir=folder))
    yield own / "image"
    shutil.rmtree(own)


@pytest.fixture(scope="module")
def traced_calls(tmp_path_factory: pytest.TempPathFactory) -> Traced:
    return traced_install(tmp_path_factory.mktemp("traced"))


@pytest.mark.timeout(60 + CUTS)
def test_a_kill_or_a_power_cut_at_any_step_leaves_all_as_it_was_or_as_it_is_to_be(
    traced_calls: Traced, image: Path
) -> None:
    before, operations = traced_calls
    disk = Disk(before)
    dice = Random(2)
    kinds = losses(dice)
    cuts = {*dice.sample(range(len(operations)), min(CUTS, len(operations))), len(operations) - 1}
    seen = []
    for at, operation in enumerate(operations):
        disk.take(operation)
        if at not in cuts:
            continue
        for number in (0, 1 + at % (len(kinds) - 1)):
            disk.save(image, kinds[number])
            seen.append(look(image, power_cut=number > 0))
            shutil.rmtree(image)
    assert set(seen) == {False, True}
    assert seen[-2:] == [True, True]


def test_a_snapshot_file_that_was_not_flushed_is_noticed_here(
    traced_calls: Traced, image: Path
) -> None:
    """If the test above could not fail, it would prove nothing."""
    before, operations = traced_calls
    disk = Disk(before)
    for operation in operations:
        if not (isinstance(operation, Flushed) and operation.path.endswith(INCOMING)):
            disk.take(operation)
    disk.save(image, losses(Random(1))[1])
    with pytest.raises(Damaged):
        look(image, power_cut=True)
