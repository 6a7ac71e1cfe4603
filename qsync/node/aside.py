"""Runs calls that may take long in a thread, so that other tasks go on."""

from collections.abc import Callable
from typing import TypeVar

from qsync.node.effects import Effects
from qsync.store.beside import SlowCall

T = TypeVar("T")


async def in_thread(effects: Effects, call: Callable[[], T]) -> T:
    """Return the result of a call that is made in a thread, or raise its error."""
    found: list[T] = []
    step = SlowCall(lambda: found.append(call()))
    await effects.in_thread(step.wait)
    step.result()
    return found[0]
