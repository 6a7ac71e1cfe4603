"""An ack is of what is on the disk: who says that it has an entry cannot forget it."""

from admin.checker.replay.disks import DiskReplay
from admin.checker.rules import texts
from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import NodeEvent, RunTables, Whose

DURABLE = "ack-durable"


def find(run: RunTables) -> RuleFinding:
    """When a node acks an entry, that very entry is on its disk."""
    acks = any(each.name == "ack" and each.crc for each in run.events)
    found = RuleFinding(lacks="" if acks else "no event `ack` with a checksum")
    disks, writes = DiskReplay(), dict[Whose, NodeEvent]()
    for each in run.events if acks else ():
        disks.apply(each)
        if each.name == "durable":
            writes[each.whose] = each
        if each.name != "ack" or not each.index:
            continue
        found.facts += 1
        if not disks.holds(each.whose, each.index, each.crc):
            message = texts.acked(each.node, each.index)
            # With what came to that disk last before the ack.
            last = writes.get(each.whose)
            rows = ([] if last is None else [last.shows()]) + [each.shows()]
            where = {"node": each.node, "index": each.index, "term": each.term}
            found.broken(DURABLE, message, rows, **where)
    return found
