"""The log of a cluster of real processes is archived through a failover, and restored from it."""

import threading
import time
from pathlib import Path

import pytest

from admin.backup import catalogue, new_cluster, points, restoring, taking, verifying
from admin.backup.archiving import Archiver, ArchivingOptions
from admin.backup.places import Folder
from admin.backup.points import WantedPoint
from admin.backup.taking import TakingOptions
from admin.lab.playground import Playground
from qsync.client.blocking import Client
from qsync.consumer import ConsumerKind
from tests.live.real import until
from tests.unit.backups import shown_rows

pytestmark = pytest.mark.slow


class Stopped(BaseException):
    """What ends an archiver, as Ctrl-C does."""


class Running:
    """An archiver in a thread, which looks as often as it can."""

    def __init__(self, place: Folder, seeds: tuple[str, ...]) -> None:
        self.said: list[str] = []
        self._end = threading.Event()
        self.archiver = Archiver(
            place,
            seeds,
            ArchivingOptions(taking=TakingOptions(say=self.said.append), sleep=self._sleep),
        )
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def last(self) -> int:
        log = self.archiver.log
        return 0 if log is None else log.last

    def stop(self) -> None:
        self._end.set()
        self._thread.join(30)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self.archiver.run()
        except Stopped:
            pass

    def _sleep(self, seconds: float) -> None:
        if self._end.wait(min(seconds, 0.05)):
            raise Stopped


def write(db: Client, first: int, last: int) -> int:
    receipt = None
    for number in range(first, last + 1):
        receipt = db.space("t").replace([number, f"v{number}"])
    assert receipt is not None
    return receipt.index


def followed_through_a_failover(cluster: Playground, db: Client, place: Folder) -> float:
    """An archive that goes on though the node it follows is killed; a moment between two writes."""
    running = Running(place, cluster.addresses)
    try:
        until(lambda: running.last() > 0, "it has begun")
        middle = write(db, 6, 10)
        until(lambda: running.last() >= middle, "what was written is kept")
        moment = time.time_ns() / 1e9
        name = next(each for each in running.said if each.startswith("follows")).split()[1]
        cluster.kill(name)
        end = write(db, 11, 20)
        until(lambda: running.last() >= end, "it goes on with another node")
        kept = {each.name: each.kind for each in db.consumers.list()}
        assert kept[running.archiver.name] is ConsumerKind.ARCHIVE
    finally:
        running.stop()
    assert any("another node is asked" in each for each in running.said)
    cluster.start(name)
    return moment


def archive_once(place: Folder, cluster: Playground) -> catalogue.Catalogue:
    Archiver(place, cluster.addresses, ArchivingOptions()).run(once=True)
    found = catalogue.load(place)
    assert points.gaps(found) == []
    return found


def test_the_log_is_kept_through_a_failover_and_any_moment_of_it_is_restored(
    qsync_cluster: Playground, tmp_path: Path
) -> None:
    place = Folder(tmp_path / "place")
    with qsync_cluster.connect() as db:
        db.schema.create_space("t", is_sync=True, format=[("id", "unsigned"), ("v", "string")])
        write(db, 1, 5)
        moment = followed_through_a_failover(qsync_cluster, db, place)
        later = write(db, 21, 21)
        found = archive_once(place, qsync_cluster)
        assert found.reach(found.backups[0]) >= later
        assert verifying.verify(found, lambda *_: None).whole
        assert len(found.log) <= 4, "what is short is made one part"
        for wanted, last in ((WantedPoint(time=moment), 10), (WantedPoint(), 21)):
            directory = tmp_path / f"n-{last}"
            node = new_cluster.NewNode(directory=directory)
            restoring.restore(found, wanted, node, lambda *_: None)
            assert shown_rows(directory) == [[n, f"v{n}"] for n in range(1, last + 1)]
        made = taking.take_backup(place, qsync_cluster.addresses, TakingOptions())
        write(db, 22, 30)
    found = archive_once(place, qsync_cluster)
    assert made.index == found.backups[-1].index, "also what lies before a newer backup is kept"
