"""The garbage collector of a server: young objects only, mostly while there is nothing to do.

A put leaves some ten objects that live until they are folded, so with Python's own thresholds the
collector runs all the time, and a full collection stops the node for 10 to 20 ms.
"""

import gc
from collections.abc import Callable
from typing import Final

import trio

from qsync.node.stalls import COLLECTION, Stalls
from qsync.node.tickets import Tickets

YOUNG_OBJECTS: Final = 1_000_000
"""So many more objects live before the young ones are looked at: more than wait to be folded at any
time, since to look at what lives takes longer than all that could be found there."""
QUIET_OBJECTS: Final = 50_000
"""How many new objects justify a collection while there is nothing to do."""
OLDER_AFTER: Final = 50
FULL_AFTER: Final = 1000
"""Collections of the generation below before the next older one is looked at, too."""
LOOK_SECONDS: Final = 1.0
"""How often it checks whether there is nothing to do."""


def settle() -> None:
    """Exempt all present objects, which live as long as the node, from garbage collection."""
    gc.set_threshold(YOUNG_OBJECTS, OLDER_AFTER, FULL_AFTER)
    gc.collect()
    gc.freeze()


def watch(stalls: Stalls, stopwatch: Callable[[], float]) -> None:
    """Report the duration of each collection."""
    begun = 0.0

    def seen(phase: str, _: dict[str, int]) -> None:
        nonlocal begun
        if phase == "start":
            begun = stopwatch()
        else:
            stalls.part(COLLECTION, stopwatch() - begun)

    gc.callbacks.append(seen)


async def collect_while_quiet(tickets: Tickets, log_end: Callable[[], int]) -> None:
    """Collect young objects when no request waits, and no request and no entry came lately.

    Runs until cancelled. `log_end` returns the index of the last entry: a follower that is sent
    many has no requests, and each of its entries lives until it is folded.
    """
    before = (-1, -1)
    while True:
        await trio.sleep(LOOK_SECONDS)
        now = (tickets.issued, log_end())
        is_quiet = not tickets and now == before
        before = now
        if is_quiet and gc.get_count()[0] > QUIET_OBJECTS:
            gc.collect(1)
