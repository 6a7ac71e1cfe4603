"""Checks: do pending transactions find their quorum, and what became of those that did not?"""

from collections.abc import Iterator

from admin.cluster import surveys
from admin.doctor.facts import Facts
from admin.doctor.finding import Finding, critical, notice, warning

AGE_SHARE_MAX = 0.5
"""Of the timeout, after which a pending transaction is rolled back."""
ROOM_SHARE_MAX = 0.8


def limbo_moves(facts: Facts) -> Iterator[Finding]:
    """Pending transactions are confirmed, and soon."""
    leader = facts.leader
    if leader is None or not leader.synchro.queue.len:
        return
    synchro, limbo = leader.synchro, leader.synchro.queue
    stall = surveys.stall(facts.survey)
    if stall is not None:
        yield critical(
            leader.name,
            f"{stall}; {limbo.len} pending, for {synchro.timeout:g} s at the most",
            "look at the disks of those that are named, then at the links to them; a node that "
            "hangs is better stopped, if a quorum is there without it",
        )
    elif synchro.timeout and limbo.age > AGE_SHARE_MAX * synchro.timeout:
        whom = ", ".join(each.label for each in limbo.missing) or "the quorum"
        yield warning(
            leader.name,
            f"{limbo.len} pending, the oldest for {limbo.age:.2g} s of {synchro.timeout:g} s; "
            f"it waits for {whom}",
            f"look at the disks and links of {whom}; then all of them are rolled back together",
        )


def limbo_room(facts: Facts) -> Iterator[Finding]:
    """The limbo is not about to be full."""
    for node in facts.nodes:
        limbo = node.synchro.queue
        parts = (
            (limbo.len, limbo.entries_max, "transactions", "queue_entries_max"),
            (limbo.size, limbo.bytes_max, "bytes", "queue_bytes_max"),
        )
        for used, most, what, option in parts:
            if node.leads and most and used > ROOM_SHARE_MAX * most:
                yield warning(
                    node.name,
                    f"the limbo holds {used} of {most} {what}: writers are about to wait",
                    f"the quorum is slower than the writers; replication.{option} only hides it",
                )


def rolled_back(facts: Facts) -> Iterator[Finding]:
    """No transaction waited in vain."""
    for node in facts.nodes:
        count = node.counters.get("transactions_rolled_back", 0)
        if count:
            yield notice(
                node.name,
                f"rolled back {count} transactions since its start; their clients were told",
                "no quorum acked in time: see `qsync info events` for when, and who was away then",
            )


def outcomes_known(facts: Facts) -> Iterator[Finding]:
    """Every write was told its fate."""
    for node in facts.nodes:
        count = node.counters.get("unknown", 0)
        if count:
            yield notice(
                node.name,
                f"could not tell {count} writes their fate in time since its start",
                "clients learn it by retrying with the token (`qsync explain OUTCOME_UNKNOWN`); "
                "if this grows, the quorum is not there",
            )


def nothing_lost(facts: Facts) -> Iterator[Finding]:
    """No asynchronous write that was answered ok was cut."""
    for node in facts.nodes:
        lost = node.counters.get("lost_async", 0)
        if lost:
            yield warning(
                node.name,
                f"{lost} asynchronous writes that were answered ok were cut since its start",
                "`qsync info lost` shows where they are kept; make the space is_sync if that "
                "must not happen",
            )
        elif node.lost.entries:
            yield notice(
                node.name,
                f"keeps {node.lost.entries} entries that were cut from its log",
                "`qsync info lost` shows them; look at them once, they change nothing",
            )
