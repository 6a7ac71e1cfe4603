"""The log of a stopped node reaches as far as its events say that it is on the disk.

A node writes down what is durable after the disk has it, and cuts no later than what follows them.
So a log that ends earlier, with the very entry that its events have there, has lost its end. One
that ends with another entry was cut as its process was killed, before that was written down.
"""

from collections.abc import Mapping

from admin.checker.kernels import proofs
from admin.checker.kernels.columns import LogEntries
from admin.checker.kernels.disks import DiskChecksums
from admin.checker.kernels.kernel import PartKernel
from admin.checker.rules import texts
from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import Whose
from admin.evidence.manifest import Manifest, NodeFacts
from admin.evidence.tables import EVENTS

KEPT = "durable-kept"


def kept(manifest: Manifest, disks: Mapping[Whose, DiskChecksums], ends: LogEntries) -> RuleFinding:
    """The logs of stopped nodes, beside `disks` after all events. `ends`: their last entries."""
    if EVENTS.name in manifest.gaps:
        return RuleFinding(lacks=manifest.gaps[EVENTS.name])
    found = RuleFinding()
    last = {ends.whose(at): at for at in range(len(ends))}
    for facts in manifest.nodes:
        disk = disks.get(facts.whose)
        if not facts.recorded or facts.problem or disk is None:
            continue
        found.facts += 1
        at = last.get(facts.whose)
        end, crc = (0, 0) if at is None else (ends.index[at], ends.crc[at])
        if end >= disk.last or not _is_short(facts, disk, end, crc):
            continue
        _, number = disk.written(disk.last)
        rows = [proofs.event(number)]
        rows += [] if at is None else [proofs.entry(*facts.whose, end)]
        message = texts.ends_before_durable(facts.node, disk.last, end)
        found.broken(KEPT, message, rows, node=facts.node, index=disk.last)
    return found


def _is_short(facts: NodeFacts, disk: DiskChecksums, end: int, crc: int | None) -> bool:
    """Return whether what is there is only a beginning of what was on the disk."""
    if not end:
        return facts.first <= 1  # else all of it is in a snapshot
    return end < disk.begins or disk.written(end)[0] == crc


KERNELS = (
    PartKernel(
        KEPT,
        "a stopped node's log has all that its events say is on disk",
        needs=("wal", "events"),
        idle="no log of a stopped node has all of its events",
    ),
)
