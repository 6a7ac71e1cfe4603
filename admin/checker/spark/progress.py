"""The progress of Spark for observers: the tasks of the running stages."""

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from typing_extensions import override

from admin.checker.spark.packages import is_connected

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PERIOD_S = 0.2


@dataclass(frozen=True, slots=True)
class SparkStage:
    """`phase` as text; `done` of `tasks` have ended, both 0 while Spark plans."""

    phase: str
    done: int = 0
    tasks: int = 0


Tell = Callable[[SparkStage], None]


class SeenStages:
    """Adds up all stages seen so far. A stage that is no longer listed is done."""

    def __init__(self, phase: str) -> None:
        self._phase = phase
        self._stages: dict[int, tuple[int, int]] = {}

    def now(self, active: Mapping[int, tuple[int, int]]) -> SparkStage:
        """`active`: by stage, how many tasks are done, and how many there are."""
        for stage, (_, tasks) in self._stages.items():
            self._stages[stage] = (tasks, tasks)
        self._stages.update(active)
        done = sum(each for each, _ in self._stages.values())
        return SparkStage(self._phase, done, sum(tasks for _, tasks in self._stages.values()))


def silent(_moment: SparkStage) -> None:
    """The default: progress is not shown."""


@contextlib.contextmanager
def watched(session: "SparkSession", tell: Tell, phase: str) -> Iterator[None]:
    """Report progress while the block runs; without an observer nothing is polled."""
    tell(SparkStage(phase))
    if tell is silent:
        yield
        return
    way = _connect if is_connected(session) else _classic
    with way(session, tell, phase):
        yield


@contextlib.contextmanager
def _classic(session: "SparkSession", tell: Tell, phase: str) -> Iterator[None]:
    """Poll the status tracker from a thread."""
    over, seen = threading.Event(), SeenStages(phase)

    def look() -> None:
        tracker = session.sparkContext.statusTracker()
        while not over.wait(PERIOD_S):
            stages = [tracker.getStageInfo(each) for each in tracker.getActiveStageIds()]
            known = {
                each.stageId: (each.numCompletedTasks, each.numTasks)
                for each in stages
                if each is not None
            }
            tell(seen.now(known))

    thread = threading.Thread(target=look, name="spark progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextlib.contextmanager
def _connect(session: "SparkSession", tell: Tell, phase: str) -> Iterator[None]:
    """The server reports by itself."""
    from pyspark.sql.connect.shell.progress import (  # noqa: PLC0415 - only behind Connect
        ProgressHandler,
        StageInfo,
    )

    class Heard(ProgressHandler):
        """Spark calls it from threads of its own."""

        def __init__(self) -> None:
            self.seen = SeenStages(phase)

        @override
        def __call__(
            self,
            stages: Iterable[StageInfo] | None,
            inflight_tasks: int,
            operation_id: str | None,
            done: bool,
        ) -> None:
            known = {
                each.stage_id: (each.num_completed_tasks, each.num_tasks) for each in stages or ()
            }
            tell(self.seen.now(known))

    heard = Heard()
    session.registerProgressHandler(heard)
    try:
        yield
    finally:
        session.removeProgressHandler(heard)
