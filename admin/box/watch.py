"""`box.watch`: a broadcast value now, and then every other one."""

from collections.abc import AsyncIterator
from typing import Self

from qsync.client.async_.database import AsyncDatabase
from qsync.errors import ProtocolError

KEYS = ("box.status", "box.election", "box.synchro", "box.id")
"""What every node broadcasts."""


class BoxWatch(AsyncIterator[dict[str, object]]):
    """`async for value in box.watch("box.status")`; may be left at any time."""

    def __init__(self, client: AsyncDatabase, key: str) -> None:
        self._values = client.watch_key(key)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> dict[str, object]:
        return _map(await anext(self._values))

    async def within(self, seconds: float | None) -> dict[str, object] | None:
        """The next value, or None when there is none for so long."""
        value = await self._values.within(seconds)
        return None if value is None else _map(value)


def _map(value: object) -> dict[str, object]:
    if isinstance(value, dict):
        return value
    raise ProtocolError(f"a broadcast value that is no map: {value!r}")
