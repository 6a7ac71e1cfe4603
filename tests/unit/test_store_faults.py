"""A full disk or map is said and harms nothing, and what was acked survives a kill."""

import json
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from election.messages import Index
from qsync import record
from qsync.errors import DiskFull
from qsync.store.log import LmdbLog
from qsync.store.memory import NOBODY
from tests.unit.logs import CHILD, ROOT, child, recovered, segment_log, some, write

WRITE_ON = """
last, failed = None, 0
for number in range(100):
    made = chain([b"x" * 9000], after=last)
    try:
        log.write(write(made))
        last = made[0]
    except DiskFull:
        failed += 1
        assert log.last == (last.index if last else 0)
        if failed == 3:
            resource.setrlimit(
                resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            )
log.close()
print(json.dumps([failed, last.index]))
"""
"""Writes until there was no room three times, and when there is room again."""

FULL_DISK = (
    """
import json, resource
from pathlib import Path
from qsync.errors import DiskFull
from qsync.store.log import LmdbLog
from qsync.store.memory import NOBODY
from tests.unit.logs import chain, write

log = LmdbLog(Path(sys.argv[1]), identity=NOBODY)
log.recover()
room = int(sys.argv[2])
size = (Path(sys.argv[1]) / "data.mdb").stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, resource.RLIM_INFINITY))
"""
    + WRITE_ON
)


FULL_SEGMENTS = (
    """
import json, resource
from pathlib import Path
from qsync.errors import DiskFull
from tests.unit.logs import chain, segment_log, write

log = segment_log(Path(sys.argv[1]))
log.recover()
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
"""
    + WRITE_ON
)


@pytest.mark.parametrize("size", [0, 700, 8192, 20_000, 32_000])
def test_segments_on_a_full_disk_say_so_and_go_on_when_there_is_room(
    tmp_path: Path, size: int
) -> None:
    """In the midst of a record, of a switch, and of making the next segment."""
    failed, last = json.loads(child(FULL_SEGMENTS, tmp_path, size))
    assert failed == 3
    assert last == 97
    log = segment_log(tmp_path)
    found = log.recover()
    assert (found.last, found.quarantined, found.dropped_tail) == (97, None, 0)
    assert len(log.entries(Index(1), Index(97))) == 97
    log.close()


@pytest.mark.parametrize("room", [0, 4096, 70_000, 70_123])
def test_a_full_disk_is_said_and_writing_goes_on_when_there_is_room(
    tmp_path: Path, room: int
) -> None:
    failed, last = json.loads(child(FULL_DISK, tmp_path / "log", room))
    assert failed == 3
    assert last == 97
    with recovered(tmp_path) as (log, found):
        assert (found.last, found.quarantined) == (97, None)
        assert len(log.entries(Index(1), Index(97))) == 97


def test_the_map_grows_as_needed(tmp_path: Path) -> None:
    log = LmdbLog(tmp_path / "log", identity=NOBODY, map_size=128 * 1024)
    log.recover()
    made = some(2000)
    for at in range(0, 2000, 100):
        log.write(write(made[at : at + 100]))
    assert log.bytes_used() > 128 * 1024
    log.close()
    log = LmdbLog(tmp_path / "log", identity=NOBODY, map_size=128 * 1024)
    assert log.recover().last == 2000
    log.close()


def test_a_map_at_its_limit_is_a_full_disk_and_a_higher_limit_lets_it_go_on(
    tmp_path: Path,
) -> None:
    made = some(4000)
    with pytest.raises(DiskFull, match=r"limit of 262144 bytes \(raise `store.map_size_max`\)"):
        fill(tmp_path, made, limit=256 * 1024)
    with recovered(tmp_path) as (log, found):
        assert found.quarantined is None
        assert found.last % 100 == 0
        log.write(write(made[found.last :]))
        assert log.last == 4000


def fill(path: Path, made: list[record.Entry], *, limit: int) -> None:
    log = LmdbLog(path / "log", identity=NOBODY, map_size=64 * 1024, map_size_max=limit)
    log.recover()
    try:
        for at in range(0, len(made), 100):
            log.write(write(made[at : at + 100]))
    finally:
        log.close()


def test_what_was_acked_is_there_after_the_process_was_killed(tmp_path: Path) -> None:
    code = """
        from pathlib import Path
        from qsync.store.log import LmdbLog
        from qsync.store.memory import NOBODY
        from tests.unit.logs import some, write
        log = LmdbLog(Path(sys.argv[1]), identity=NOBODY)
        log.recover()
        last = None
        while True:
            made = some(5, after=last)
            log.write(write(made))
            last = made[-1]
            print(last.index, flush=True)
        """
    text = CHILD.format(root=str(ROOT)) + textwrap.dedent(code)
    command = [sys.executable, "-c", text, str(tmp_path / "log")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        acked = [int(process.stdout.readline()) for _ in range(40)][-1]
        process.send_signal(signal.SIGKILL)
        process.wait()
    with recovered(tmp_path) as (_, found):
        assert found.last >= acked
        assert (found.quarantined, found.dropped_tail) == (None, 0)
