"""Checks of the log's retention: snapshots, trimming, and consumers that hold the log."""

from collections.abc import Iterator
from typing import Final

from admin.doctor.facts import Facts, Finding, warning
from qsync.consumer import ConsumerKind

OVERDUE_MAX: Final = 3.0
"""Intervals after which a snapshot is too old: one may be late, or may fail once."""
HELD_SHARE_MAX: Final = 0.5
"""Share of the log that a consumer may hold."""
_MIB: Final = 1 << 20


def snapshots_recent(facts: Facts) -> Iterator[Finding]:
    """Snapshots are written."""
    for node in facts.nodes:
        gc = node.gc
        overdue = gc.overdue(now=node.time, confirmed=node.confirmed)
        if gc.checkpoint_error is not None:
            yield warning(
                node.name,
                f"the last snapshot could not be written: {gc.checkpoint_error}",
                "mend that: its log is not trimmed until there is one, and fills the disk",
            )
        elif overdue > OVERDUE_MAX:
            hours = overdue * gc.checkpoint_interval / 3600
            yield warning(
                node.name,
                f"its newest snapshot is {hours:.1f} h old, {overdue:.0f} times "
                "store.checkpoint_interval",
                "`qsync info events` tells why none is written; `box.snapshot()` writes one now",
            )


def log_trimmed(facts: Facts) -> Iterator[Finding]:
    """The log can be trimmed."""
    for node in facts.nodes:
        if node.gc.trim_error is not None:
            yield warning(
                node.name,
                f"its log on disk cannot be trimmed: {node.gc.trim_error}",
                "mend the disk; it is tried again by itself",
            )


def log_held(facts: Facts) -> Iterator[Finding]:
    """No consumer holds too much of the log."""
    told = [each for each in facts.nodes if each.leads] or list(facts.nodes)
    for node in told[:1]:
        for each in node.gc.consumers:
            is_member = each.kind == ConsumerKind.REPLICA
            name = each.about if is_member else each.name
            if each.let_go:
                fix = (
                    "start it: it gets a snapshot from the leader and continues"
                    if is_member
                    else f"it may register again, or forget it: `qsync member gc drop {name}`"
                )
                yield warning(name, "the log is not kept for it any more: it held too much", fix)
            elif node.gc.retention and each.size > HELD_SHARE_MAX * node.gc.retention:
                yield warning(
                    name,
                    f"the log behind {each.signature} is kept for it, {each.size // _MIB} MiB; "
                    f"with {node.gc.retention // _MIB} MiB (store.wal_retention_size) it is let go",
                    f"bring it back, or let it go: `qsync member gc drop {name}`",
                )
