"""Checks of the disks: errors, write latency, free space."""

from collections.abc import Iterator
from statistics import median

from admin.doctor.facts import Facts, Finding, critical, notice, warning
from qsync.status import health
from qsync.units import how_many

USUAL_S_MAX = 0.05
"""A durable write that takes longer makes every commit slow."""
UNEVEN_FACTOR = 10.0
UNEVEN_S_MIN = 0.005
"""Below this latency differences between disks do not matter."""
ROOM_SHARE_MIN, ROOM_SHARE_TIGHT = 0.02, 0.10
"""Shares of the disk below which free room is critical, or tight."""
ROOM_TOTAL_MAX = 100 << 30
"""Bytes; a larger disk counts as one of this size, since a tenth of it lasts for long."""
_MS = 1e3


def disk_writes(facts: Facts) -> Iterator[Finding]:
    """The log can be written."""
    for node in facts.nodes:
        wrong = health.wrong(node, "disk")
        if wrong is not None:
            yield critical(
                node.name,
                wrong,
                "free some space or repair the disk; the node continues by itself",
            )


def rows_sound(facts: Facts) -> Iterator[Finding]:
    """The stored rows match their checksums."""
    for node in facts.nodes:
        if node.spaces.error:
            yield critical(
                node.name,
                f"serves no data: {node.spaces.error}",
                "wait until it has replayed its log; the other nodes answer meanwhile",
            )
        elif node.spaces.rebuilds:
            yield warning(
                node.name,
                f"has rebuilt its rows from its log, {how_many(node.spaces.rebuilds, 'time')} "
                "since it was started: they were not what had been stored",
                "check its disk and memory; `qsync info events` tells what was found",
            )


def rows_agree(facts: Facts) -> Iterator[Finding]:
    """The rows of the followers equal those of the leader."""
    for node in facts.nodes:
        if node.spaces.differs:
            yield critical(
                node.name,
                f"its rows of {', '.join(node.spaces.differs)} differ from the leader's at index "
                f"{node.spaces.compared}, and each is what was stored there",
                "keep the directories of both; `qsync check` of all nodes tells which one does "
                "not follow from its log",
            )


def disk_answers(facts: Facts) -> Iterator[Finding]:
    """No disk write hangs."""
    for node in facts.nodes:
        wrong = health.wrong(node, "writer")
        if wrong is not None:
            yield critical(
                node.name,
                wrong,
                "look at the disk and its controller; a leader whose disk hangs steps down",
            )


def disk_fast(facts: Facts) -> Iterator[Finding]:
    """A durable write takes milliseconds."""
    for node in facts.nodes:
        usual = node.disk.usual_s
        if usual is not None and usual > USUAL_S_MAX:
            yield warning(
                node.name,
                f"makes a write durable in {usual * _MS:.0f} ms; each commit waits so long",
                "use a disk that keeps a flush below 10 ms; see what else writes there",
            )


def disks_even(facts: Facts) -> Iterator[Finding]:
    """No disk is much slower than the others."""
    known = {node.name: node.disk.usual_s for node in facts.nodes if node.disk.usual_s}
    if len(known) < 3:  # noqa: PLR2004 - with two there is no majority to compare with
        return
    middle = median(known.values())
    for name, usual in known.items():
        if usual > UNEVEN_S_MIN and usual > UNEVEN_FACTOR * middle:
            yield notice(
                name,
                f"its disk takes {usual * _MS:.0f} ms where the others take {middle * _MS:.1f} ms",
                "it holds nothing up while the quorum is there without it; better it does not lead",
            )


def disk_room(facts: Facts) -> Iterator[Finding]:
    """The disk has enough free space."""
    for node in facts.nodes:
        free, total = node.disk.free, node.disk.total
        if free is None or not total or not room_below(ROOM_SHARE_TIGHT, free, total):
            continue
        found = critical if room_below(ROOM_SHARE_MIN, free, total) else warning
        yield found(
            node.name,
            f"{free / total:.0%} of its disk is free ({free >> 20} MiB)",
            "make room: a node that cannot write its log steps down",
        )


def room_below(share: float, free: int, total: int) -> bool:
    """Whether fewer bytes are free than that share of the size of the disk."""
    return free < share * min(total, ROOM_TOTAL_MAX)


def events_written(facts: Facts) -> Iterator[Finding]:
    """The timeline has no gaps."""
    for node, count in facts.counted("events_unwritten"):
        yield notice(
            node.name,
            f"could not write {how_many(count, 'event')} to its timeline.jsonl",
            "is its directory full or read-only?",
        )


def audit_written(facts: Facts) -> Iterator[Finding]:
    """The audit trails have no gaps."""
    for node, count in facts.counted("audit_unwritten"):
        yield warning(
            node.name,
            f"could not write {how_many(count, 'line')} to its audit.jsonl",
            "its event audit_unwritten says why; make room, or mend the file",
        )
    for node, _ in facts.counted("audit_cuts"):
        yield warning(
            node.name,
            "heard of an audit trail that has lost lines",
            "its event audit_cut names the node; `qsync audit verify DIR --ask TARGET` there",
        )
