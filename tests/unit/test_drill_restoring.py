"""A lab whose nodes are lost is restored from backups, whichever step the runner is killed at."""

import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import ParamSpec, TypeVar

import pytest

from admin.backup import restoring as backup_restoring
from admin.backup.places import Folder
from admin.cluster import settling
from admin.drills import restoring
from admin.lab import lab as labs
from admin.lab.lab import Lab
from qsync.config import NodeConfig
from qsync.directory_files import CONFIG_FILE
from tests.unit.backups import MadeHistory, begin, keep_log, keep_rows

P = ParamSpec("P")
R = TypeVar("R")


class Killed(BaseException):
    """The process dies here."""


class Steps:
    """Kills the runner before or after one of the steps that leave something on the disk."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.deadly = 0
        self.seen = 0
        self._watch(patch, restoring, "write_whole")
        self._watch(patch, restoring, "_note")
        self._watch(patch, labs, "refounded")
        self._watch(patch, backup_restoring, "restore")

    def _watch(self, patch: pytest.MonkeyPatch, module: object, name: str) -> None:
        patch.setattr(module, name, self._counted(getattr(module, name)))

    def _counted(self, step: Callable[P, R]) -> Callable[P, R]:
        def counted(*args: P.args, **kwargs: P.kwargs) -> R:
            self._pass()
            done = step(*args, **kwargs)
            self._pass()
            return done

        return counted

    def _pass(self) -> None:
        self.seen += 1
        if self.seen == self.deadly:
            raise Killed


@pytest.fixture
def lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """A lab with backups, and without the directory of its only node, which nothing starts."""
    monkeypatch.setattr(Lab, "start", lambda *_: None)
    monkeypatch.setattr(settling, "wait_writable", lambda *_, **__: None)
    made = labs.create(tmp_path / "lab", name="shop", nodes=1)
    place = made.dir / restoring.FOLDER / made.cluster
    history = MadeHistory(Random(3))
    history.live(40)
    place.mkdir(parents=True)
    found = begin(Folder(place))
    keep_log(found, history, 0, history.last)
    keep_rows(found, history, history.clip(history.last // 2))
    settings = place.parent / f"{made.cluster}.{CONFIG_FILE}"
    shutil.copyfile(made.nodes[0].config, settings)
    shutil.rmtree(made.nodes[0].dir)
    return made


def test_a_restore_that_is_killed_at_any_step_is_completed_by_the_next_one(
    lost: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = Steps(monkeypatch)
    for deadly in range(1, 100):
        copy = tmp_path / f"killed-{deadly}"
        shutil.copytree(lost.dir, copy)
        steps.deadly, steps.seen = deadly, 0
        here = labs.load(copy)
        try:
            restoring.restore(here, here.nodes[0])
        except Killed:
            steps.deadly = 0
            here = labs.load(copy)
            assert restoring.restore(here, here.nodes[0]) is False, "it is the first one still"
            check_whole(copy, former=lost.cluster)
        else:
            assert deadly > 10, "before and after each of five steps"
            check_whole(copy, former=lost.cluster)
            return
    pytest.fail("it never came to its end")


def check_whole(directory: Path, *, former: str) -> None:
    """The lab and its node are of one cluster, a new one; how it was made is noted once."""
    now = labs.load(directory)
    node = NodeConfig.load(now.nodes[0].config, {})
    assert node.cluster.id == now.cluster != former
    assert node.cluster.name == "shop", "its file is that of a lab's node"
    assert node.secret
    assert not (node.node.dir / "secret").exists(), "it is the one of the lab"
    assert len(restoring.points(directory, since=0.0)) == 1
    assert not (directory / restoring.BEGUN).exists()
