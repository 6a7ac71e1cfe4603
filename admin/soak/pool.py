"""Runs plans on all processors; results come in the order in which runs end."""

import signal
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait

from admin.soak.judge import Judge, JudgedSeed
from qsync.sim.plan import Plan

AHEAD = 4
"""How many plans each process gets in advance."""


def judged(plans: Iterable[Plan], judge: Judge, *, jobs: int = 1) -> Iterator[JudgedSeed]:
    """Check all plans. Closing the generator ends the processes."""
    if jobs <= 1:
        yield from map(judge, plans)
        return
    pool = ProcessPoolExecutor(jobs, initializer=_leave_interrupts)
    try:
        running: set[Future[JudgedSeed]] = set()
        for plan in plans:
            running.add(pool.submit(judge, plan))
            if len(running) >= AHEAD * jobs:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                yield from _results(done)
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            yield from _results(done)
    finally:
        pool.shutdown(cancel_futures=True)


def _results(done: Iterable[Future[JudgedSeed]]) -> list[JudgedSeed]:
    """Yield the results, in the order of seeds as far as possible."""
    return sorted((each.result() for each in done), key=lambda each: each.report.seed)


def _leave_interrupts() -> None:
    """Ignore Ctrl-C: the parent saves the results and then ends its processes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
