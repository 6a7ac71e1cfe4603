"""Later values of a broadcast key, for functions passed to `box.watch`."""

import math
from collections.abc import Awaitable, Callable
from typing import Final

import trio

from admin.box.session import Box
from qsync.errors import QsyncError

AGAIN_S: Final = 1.0
"""Pause before the next request to a node that did not answer."""


async def follow_key(
    box: Box,
    key: str,
    known: object,
    *,
    wanted: Callable[[], bool],
    call: Callable[[object], Awaitable[None]],
) -> None:
    """Call it for every new value after the `known` one, as long as it is `wanted`."""
    values = box.watch(key)
    while True:
        try:
            value = await values.within(math.inf)
        except QsyncError:
            await trio.sleep(AGAIN_S)
            values = box.watch(key)
            continue
        if not wanted():
            return
        former, known = known, value
        if value is not None and value != former:
            await call(value)
