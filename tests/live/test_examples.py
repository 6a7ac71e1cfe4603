"""The examples of the documents, run as they stand, under each way of waiting that they are for."""

import importlib.util
from functools import partial
from pathlib import Path
from types import ModuleType

import anyio
import pytest

import qsync
from admin.lab.playground import Playground

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def example(name: str) -> ModuleType:
    """The module, from its file."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def emptied(cluster: Playground, *spaces: str) -> tuple[str, ...]:
    """The cluster without these spaces."""
    with cluster.connect() as db:
        for name in spaces:
            db.schema.drop_space(name)
    return cluster.addresses


def test_every_example_is_run_here() -> None:
    names = {"bank", "config_store", "job_queue", "leader_lock"}
    assert {path.stem for path in EXAMPLES.glob("*.py")} == names


def test_the_examples_do_what_they_say(
    qsync_cluster: Playground, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        example("bank").main(qsync_cluster.addresses)
        said = capsys.readouterr().out
        assert said.splitlines() == ["ann to bob, 30: True", "bob to ann, 500: False", "total: 400"]
    jobs = [f"job {number}" for number in range(10)]
    settings = [["colour", "blue", 2], ["colour", "green", 3], ["the end", None, 1]]
    for backend in ("trio", "asyncio"):  # the second in what the first has left
        anyio.run(example("job_queue").main, qsync_cluster.addresses, backend=backend)
        assert capsys.readouterr().out == f"done, each once: {sorted(jobs)}\n"
        anyio.run(example("config_store").main, qsync_cluster.addresses, backend=backend)
        refused, heard = capsys.readouterr().out.splitlines()
        assert refused == "refused: colour is not at version 1 any more"
        assert heard == f"heard: {settings}"
        anyio.run(example("leader_lock").main, qsync_cluster.addresses, backend=backend)
        assert capsys.readouterr().out.splitlines() == [
            "w2 takes over from w1",
            "refused: w1 has lost reports",
            "tuesday was written by w2",
        ]


def test_workers_of_the_queue_lose_no_job_with_their_leader(qsync_cluster: Playground) -> None:
    queue = example("job_queue")
    done: list[str] = []

    async def run() -> None:
        async with qsync.connect_async(qsync_cluster.addresses) as db:
            await queue.create(db)
            await queue.put(db, [f"job {number}" for number in range(30)])
            async with anyio.create_task_group() as group:
                for worker in ("w1", "w2"):
                    group.start_soon(partial(queue.work, db, worker, done))
                await anyio.to_thread.run_sync(qsync_cluster.kill_leader)
            assert await db.space("jobs").count([queue.DONE], index="state") == 30

    anyio.run(run, backend="trio")
    assert len(set(done)) == len(done) == 30
