"""The log is flushed before it is acked, in the right order, and a flush that fails is no ack."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from qsync.core.ready import Write
from qsync.store.environment import Environment
from qsync.store.log import LmdbLog
from qsync.store.memory import NOBODY
from qsync.store.spaces import SpaceStore
from tests.disk import traced
from tests.disk.compared import DATA, LAST_FLUSHED, is_segment
from tests.disk.life import Held, Life
from tests.disk.opened import look, place
from tests.disk.power import Disk, Flushed, Operation, Renamed, Said, Wrote
from tests.unit.logs import ROOT, some, write

# Everything that could make an LMDB commit return before its pages are on the disk.
UNSAFE = ("map_async", "writemap")
LAZY = ("sync", "metasync")
STEPS = 60


def flags(environment: Environment) -> dict[str, bool]:
    """As LMDB itself says: not what was asked for, but what is in force."""
    return {name: bool(value) for name, value in environment._env.flags().items()}


def test_the_log_is_open_with_all_flushes_on_even_after_it_was_reopened(tmp_path: Path) -> None:
    log = LmdbLog(tmp_path / "log", identity=NOBODY, map_size=64 * 1024)
    log.recover()
    for _ in range(2):
        found = flags(log._env)
        assert all(found[name] for name in LAZY)
        assert not any(found[name] for name in UNSAFE)
        assert found["lock"]
        assert not found["readonly"]
        log._env._reopen()
    log.write(write(some(2000)))  # the map grows
    assert all(flags(log._env)[name] for name in LAZY)
    log.close()


def test_the_spaces_are_lazy_and_nothing_else(tmp_path: Path) -> None:
    spaces = SpaceStore(tmp_path / "data")
    found = flags(spaces._env)
    assert not any(found[name] for name in (*LAZY, *UNSAFE))
    spaces.close()


def calls(name: str) -> Iterator[tuple[str, ast.Call]]:
    """Where something of that name is called, in everything that is shipped."""
    for package in ("election", "qsync", "admin", "cli"):
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == name:
                    yield path.relative_to(ROOT).as_posix(), node


def test_lmdb_is_opened_in_one_place_and_lazily_only_for_the_spaces() -> None:
    apart = {
        "admin/evidence/copies.py",  # reads only, and takes no lock
    }
    assert {path for path, _ in calls("lmdb.open")} - apart == {"qsync/store/environment.py"}
    assert not list(calls("lmdb.Environment"))
    durable = {
        path: ast.unparse(word.value)
        for path, call in calls("Environment")
        for word in call.keywords
        if word.arg == "durable"
    }
    assert durable == {
        "qsync/store/importing.py": "True",
        "qsync/store/log.py": "True",
        "qsync/store/spaces.py": "False",
    }


# ------------------------------------------------------------ what really reaches the system


def traced_life(tmp_path: Path, *, seed: int, options: tuple[str, ...] = ()) -> list[Operation]:
    """Live under strace; the first step that fails is taken once more."""
    if reason := traced.unusable():
        pytest.skip(reason)
    (tmp_path / "root").mkdir()
    reader = traced.Reader(tmp_path / "root")
    code = (
        "from pathlib import Path; from tests.disk.writer import live;"
        f"live(Path({str(tmp_path / 'root' / 'n')!r}), seed={seed}, begin=0, end={STEPS},"
        " retries=1)"
    )
    done = traced.run(code, log=tmp_path / "calls", options=options)
    # While the store is opened or closed nobody tries again: that is the end of the process.
    assert done.returncode == 0 or (options and "qsync.errors.StoreError" in done.stderr)
    return list(reader.read(tmp_path / "calls"))


@pytest.mark.parametrize("seed", [0, 1], ids=["in place", "in a thread"])
def test_an_ack_follows_one_write_and_one_flush(tmp_path: Path, seed: int) -> None:
    disk, writes, flushes, switches = Disk(), 0, 0, 0
    for operation in traced_life(tmp_path, seed=seed):
        match operation:
            case Wrote(path, _, data) if is_segment(path) and disk.said:
                assert not disk.unsafe(path), "two writes of one commit"
                assert data.strip(b"\0")
                writes += 1
            case Flushed(path) if is_segment(path) and disk.said:
                flushes += 1
            case Wrote(path, _, _) if path == LAST_FLUSHED:
                assert not any(map(disk.unsafe, filter(is_segment, disk.paths()))), (
                    "marked before it was flushed"
                )
            case Renamed(path, to) if is_segment(to):
                assert not disk.unsafe(path), "a segment has its number before its header is safe"
                switches += disk.said > 0
            case Said():
                assert not any(map(disk.unsafe, filter(is_segment, disk.paths()))), (
                    "acked before it was flushed"
                )
            case _:
                pass
        disk.take(operation)
    life = Life(seed)
    commits = sum(isinstance(life.step(), Write) for _ in range(STEPS))
    assert switches > 2
    assert writes == flushes == commits + switches


def test_the_mark_is_flushed_before_the_first_lazy_page_and_after_the_last(
    tmp_path: Path,
) -> None:
    disk, marked = Disk(), False
    lazy = 0
    for operation in traced_life(tmp_path, seed=0):
        if isinstance(operation, Wrote) and operation.file == DATA and disk.said:
            assert marked, "rows were written while the mark said that all are flushed"
            lazy += 1
        if isinstance(operation, Wrote) and operation.file == "n/data/mark.new":
            marked = not operation.data.startswith(b"clean")
            if not marked:
                assert not disk.unsafe(DATA), "marked as flushed before it was"
        if operation == Flushed(DATA):
            lazy = 0
        disk.take(operation)
    assert not marked
    assert not lazy


FAULTS = [
    ("fdatasync", "EIO", 8),
    ("fdatasync", "EIO", 15),
    ("fdatasync", "EIO", 31),
    ("writev", "EIO", 5),
    ("writev", "ENOSPC", 3),
    ("pwrite64", "EIO", 12),
    ("pwrite64", "EIO", 40),
    ("pwrite64", "EIO", 41),
    ("pwrite64", "EIO", 42),
    ("pwrite64", "EIO", 43),
    ("pwrite64", "ENOSPC", 60),
    ("fsync", "EIO", 24),
]


@pytest.mark.parametrize(("call", "error", "at"), FAULTS)
def test_a_call_that_fails_is_no_ack_and_the_next_attempt_loses_nothing(
    tmp_path: Path, call: str, error: str, at: int
) -> None:
    """A flush that failed once says nothing about the next one: pages must be written again."""
    inject = f"inject={call}:error={error}:when={at}"
    operations = traced_life(tmp_path, seed=0, options=("-e", inject))
    assert "(INJECTED)" in (tmp_path / "calls").read_text()
    acked = max(0, sum(isinstance(operation, Said) for operation in operations) - 1)
    life = Life(0)
    lived = [Held()]
    for _ in range(STEPS + 1):
        life.step()
        lived.append(life.held)
    held = look(tmp_path / "root" / "n")
    assert place(held, lived, acked=acked) == acked
    assert acked == STEPS or call == "fsync"  # which is also used where nobody tries again
