"""A backup has what was confirmed when it was asked for, also from a follower that is behind."""

from contextlib import closing
from pathlib import Path

import pytest

from admin.backup import nodes
from admin.backup.archiving import Archiver, ArchivingOptions
from admin.backup.nodes import BackupSource
from admin.backup.places import Folder
from admin.backup.taking import TakingOptions
from qsync.errors import Unavailable
from qsync.node.snapshot_export import FEATURE
from tests.unit.logs import some
from tests.unit.pretender import Pretender


def test_a_follower_is_asked_until_it_knows_what_the_cluster_had_confirmed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with closing(Pretender(1)) as node:
        node.features += (FEATURE,)
        node.log, node.confirmed = some(9), 3
        slept: list[float] = []

        def sleep(seconds: float) -> None:
            slept.append(seconds)
            node.confirmed = 3 + len(slept)

        with BackupSource(node.address) as source:
            source.catch_up(5, sleep=sleep)
            assert (source.confirmed, len(slept)) == (5, 2)
            monkeypatch.setattr(nodes, "CATCH_UP_S", 0.0)
            with pytest.raises(Unavailable, match="has not come up to index 8"):
                source.catch_up(8, sleep=sleep)


class Stopped(BaseException):
    """What ends an archive, as Ctrl-C does."""


def test_an_archive_waits_for_a_node_that_has_the_data(tmp_path: Path) -> None:
    """Such as while the only one that answers fetches all of it from the others."""
    said: list[str] = []
    with closing(Pretender(1)) as node:
        node.known = {"status": "loading"}

        def sleep(_: float) -> None:
            if len(said) == 2:
                raise Stopped

        options = ArchivingOptions(taking=TakingOptions(say=said.append), sleep=sleep)
        archiver = Archiver(Folder(tmp_path / "backups"), [node.address], options)
        with pytest.raises(Stopped):
            archiver.run()
        with pytest.raises(Unavailable, match="has the cluster's data"):
            archiver.run(once=True)
    assert (
        said == ["none of the nodes that answer has the cluster's data; another node is asked"] * 2
    )
