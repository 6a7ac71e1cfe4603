"""`box.watch`: a broadcast value now, and then every other one."""

from collections.abc import AsyncIterator
from typing import Self

from qsync.client.aio import AsyncClient
from qsync.errors import ProtocolError

KEYS = ("box.status", "box.election", "box.synchro", "box.id")
"""What every node broadcasts."""


class Watch(AsyncIterator[dict[str, object]]):
    """`async for value in box.watch("box.status")`; may be left at any time."""

    def __init__(self, client: AsyncClient, key: str) -> None:
        self._values = client.watch_key(key)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> dict[str, object]:
        value = await anext(self._values)
        if isinstance(value, dict):
            return value
        raise ProtocolError(f"a broadcast value that is no map: {value!r}")
