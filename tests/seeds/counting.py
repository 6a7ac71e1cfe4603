"""What happened in runs in which nothing may break."""

from collections import Counter
from collections.abc import Iterable

from admin.soak.judge import judge
from qsync.sim.plan import Plan


def counts_of(seeds: Iterable[int], events: int) -> Counter[str]:
    """How often what happened in all of these runs together; each of them holds."""
    total = Counter[str]()
    for seed in seeds:
        found = judge(Plan(seed=seed, events=events))
        assert found.finding is None, found.describe()
        total.update(found.report.counts)
    return total
