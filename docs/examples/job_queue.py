"""A job queue: every job is taken by one worker, and done once. Trio here; asyncio is the same.

python docs/examples/job_queue.py 127.0.0.1:3301
"""

import sys
from collections.abc import Sequence

import anyio

import qsync
from qsync.client.transaction import AsyncTransaction

READY, TAKEN, DONE = "ready", "taken", "done"


async def create(db: qsync.AsyncClient) -> None:
    """One space; an index finds the oldest job in a state."""
    await db.schema.create_space(
        "jobs",
        is_sync=True,
        if_not_exists=True,
        format=[("id", "unsigned"), ("state", "string"), ("worker", "string"), ("what", "string")],
    )
    await db.schema.create_index(
        "jobs", "state", parts=["state", "id"], unique=True, if_not_exists=True
    )


async def put(db: qsync.AsyncClient, jobs: Sequence[str]) -> None:
    """All of them or none. What a former run has done is to be done again."""
    async with db.transaction() as tx:
        for number, what in enumerate(jobs):
            tx.space("jobs").replace([number, READY, "", what])


async def take(db: qsync.AsyncClient, worker: str) -> list[object] | None:
    """The oldest job that nobody has; two workers never get the same one."""

    async def first(tx: AsyncTransaction) -> list[object] | None:
        found = await tx.space("jobs").select([READY], index="state", limit=1)
        if not found:
            return None
        tx.space("jobs").update(found[0][0], [("=", "state", TAKEN), ("=", "worker", worker)])
        return list(found[0])

    return await db.atomic(first, attempts=100)


async def finish(db: qsync.AsyncClient, number: object) -> None:
    """The job is done; when this returns, a majority of disks knows."""
    await db.space("jobs").update(number, [("=", "state", DONE)])


async def work(db: qsync.AsyncClient, worker: str, done: list[str]) -> None:
    """Until there is nothing left."""
    while (job := await take(db, worker)) is not None:
        done.append(str(job[3]))
        await finish(db, job[0])


async def main(target: str | Sequence[str]) -> None:
    """Three workers, ten jobs."""
    done: list[str] = []
    async with qsync.connect_async(target) as db:
        await create(db)
        await put(db, [f"job {number}" for number in range(10)])
        async with anyio.create_task_group() as group:
            for worker in ("w1", "w2", "w3"):
                group.start_soon(work, db, worker, done)
    print("done, each once:", sorted(done))


if __name__ == "__main__":
    anyio.run(main, sys.argv[1:] or "127.0.0.1:3301", backend="trio")
