"""Where a session gets its connections from, whatever drives it: an event loop or nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ParamSpec, Protocol, TypeVar

from qsync.client.async_.database import AsyncDatabase

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class OpenConnection:
    """An open connection; `close` may be called at any time, in any order."""

    client: AsyncDatabase
    close: Callable[[], None]


class Pool(Protocol):
    """Opens connections, and does blocking work without stopping the others."""

    async def open(self, addresses: tuple[str, ...], *, direct: bool) -> OpenConnection:
        """Connect. Raises Unavailable or what the handshake refuses."""

    async def aside(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """The result of a function that blocks."""
