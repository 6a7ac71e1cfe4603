"""A lock for workers of which one acts at a time, also when its holder dies or is only slow.

python docs/examples/leader_lock.py 127.0.0.1:3301

Nobody compares clocks: a holder renews the lock by counting up, and a worker that waits takes it
when the count has stood still for long enough by its own clock. A holder that was slow does no harm
afterwards, since it writes in transactions that read the lock, too.
"""

import sys
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import anyio

import qsync
from qsync.client.transaction import AsyncTransaction

PATIENCE_S = 1.0
"""A lock that was not renewed for so long may be taken."""


class LostLock(Exception):
    """Another worker has taken the lock."""


class Lock(NamedTuple):
    """A row of the space. `fence` grows with each new holder, `renewals` with each `renew`."""

    name: str
    holder: str
    fence: int
    renewals: int = 0


async def create(db: qsync.AsyncClient) -> None:
    """One space for locks, and one for what their holders write."""
    await db.schema.create_space(
        "locks",
        is_sync=True,
        if_not_exists=True,
        format=[
            ("name", "string"),
            ("holder", "string"),
            ("fence", "unsigned"),
            ("renewals", "unsigned"),
        ],
    )
    await db.schema.create_space(
        "results",
        is_sync=True,
        if_not_exists=True,
        format=[("name", "string"), ("worker", "string")],
    )


async def acquire(db: qsync.AsyncClient, name: str, holder: str) -> Lock:
    """Wait until the lock is free, or was not renewed for `PATIENCE_S`."""
    seen: Lock | None = None
    since = anyio.current_time()
    while True:
        late = anyio.current_time() - since >= PATIENCE_S
        take = partial(_take, wanted=Lock(name, holder, 1), dead=seen if late else None)
        found, taken = await db.atomic(take, attempts=100)
        if taken:
            return found
        if found != seen:
            seen, since = found, anyio.current_time()
        await anyio.sleep(PATIENCE_S / 5)


async def _take(tx: AsyncTransaction, *, wanted: Lock, dead: Lock | None) -> tuple[Lock, bool]:
    """The lock as it is now, and whether we have taken it: it was free, or still is as `dead`."""
    locks = tx.space("locks", row=Lock)
    found = await locks.get(wanted.name)
    if found is not None and found.holder and found != dead:
        return found, False
    taken = wanted if found is None else wanted._replace(fence=found.fence + 1)
    locks.replace(taken)
    return taken, True


async def held(tx: AsyncTransaction, lock: Lock) -> Lock:
    """The lock as it is now; for every transaction that needs it. Raises LostLock."""
    found = await tx.space("locks", row=Lock).get(lock.name)
    if found is None or (found.holder, found.fence) != (lock.holder, lock.fence):
        raise LostLock(f"{lock.holder} has lost {lock.name}")
    return found


async def renew(db: qsync.AsyncClient, lock: Lock) -> None:
    """Call it several times in `PATIENCE_S`. Raises LostLock."""

    async def once_more(tx: AsyncTransaction) -> None:
        found = await held(tx, lock)
        tx.space("locks", row=Lock).replace(found._replace(renewals=found.renewals + 1))

    await db.atomic(once_more, attempts=100)


async def release(db: qsync.AsyncClient, lock: Lock) -> None:
    """The next worker need not wait. Raises LostLock."""

    async def free(tx: AsyncTransaction) -> None:
        found = await held(tx, lock)
        tx.space("locks", row=Lock).replace(found._replace(holder=""))

    await db.atomic(free, attempts=100)


async def write(db: qsync.AsyncClient, lock: Lock, name: str) -> None:
    """A write that only the holder may do. Raises LostLock."""

    async def put(tx: AsyncTransaction) -> None:
        await held(tx, lock)
        tx.space("results").replace([name, lock.holder])

    await db.atomic(put, attempts=100)


async def main(target: str | Sequence[str]) -> None:
    """Two workers; the first one stops in the middle of its work, and comes back."""
    async with qsync.connect_async(target) as db, qsync.connect_async(target) as other:
        await create(db)
        first = await acquire(db, "reports", "w1")
        await write(db, first, "monday")
        await renew(db, first)
        # w1 stops here: its machine is suspended, or its network is cut.
        second = await acquire(other, "reports", "w2")
        print(f"{second.holder} takes over from {first.holder}")
        await write(other, second, "tuesday")
        try:
            await write(db, first, "tuesday")
        except LostLock as error:
            print("refused:", error)
        await release(other, second)
        row = await db.space("results").get("tuesday")
        print("tuesday was written by", row[1] if row else "nobody")


if __name__ == "__main__":
    anyio.run(main, sys.argv[1:] or "127.0.0.1:3301", backend="trio")
