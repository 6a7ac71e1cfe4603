"""A configuration store: settings with a version, and whoever needs them hears of every change.

python docs/examples/config_store.py 127.0.0.1:3301
"""

import sys
from collections.abc import Sequence
from functools import partial

import anyio

import qsync
from qsync.errors import Conflict


async def create(db: qsync.AsyncClient) -> None:
    """A row for each setting; `version` counts its changes."""
    await db.schema.create_space(
        "settings",
        is_sync=True,
        if_not_exists=True,
        format=[("name", "string"), ("value", "any"), ("version", "unsigned")],
    )


async def change(db: qsync.AsyncClient, name: str, value: object, *, version: int) -> int:
    """Set it, if it still is at `version` (0: not there yet); the new version.

    Raises Conflict when somebody was faster: read again, and decide again.
    """
    async with db.transaction() as tx:
        found = await tx.space("settings").get(name)
        if (found[2] if found else 0) != version:
            raise Conflict(f"{name} is not at version {version} any more")
        tx.space("settings").replace([name, value, version + 1])
    return version + 1


async def follow(
    db: qsync.AsyncClient, heard: list[list[object]], *, since: qsync.Receipt, until: str
) -> None:
    """Hear every change after a receipt, in order and each once, up to one of the setting `until`.

    A receipt (or the index of the last change heard) is where to go on: nothing in between can be
    missed, whatever happened to the node that was asked before.
    """
    async for found in db.watch("settings", after=since):
        for effect in found.effects:
            if effect.row is not None:
                heard.append(list(effect.row))
                if effect.row[0] == until:
                    return


async def main(target: str | Sequence[str]) -> None:
    """One follows while another changes settings."""
    heard: list[list[object]] = []
    async with qsync.connect_async(target) as db, qsync.connect_async(target) as other:
        await create(db)
        await db.space("settings").delete("the end")  # of a former run
        since = await db.space("settings").replace(["colour", "red", 1])
        async with anyio.create_task_group() as group:
            group.start_soon(partial(follow, other, heard, since=since, until="the end"))
            version = await change(db, "colour", "blue", version=1)
            try:
                await change(db, "colour", "green", version=1)
            except Conflict as error:
                print("refused:", error.message)
            await change(db, "colour", "green", version=version)
            await change(db, "the end", None, version=0)
    print("heard:", heard)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1:] or "127.0.0.1:3301", backend="asyncio")
