"""An ack is of what is on the disk: who says that it has an entry cannot forget it."""

from admin.checker.exhibit import Exhibit
from admin.checker.rules.disks import Disks
from admin.checker.rules.rule import Finding, Rule
from admin.checker.rules.run import Event, Run

DURABLE = "ack-durable"


def find(run: Run) -> Finding:
    """When a node acks an entry, that very entry is on its disk."""
    acks = any(each.name == "ack" and each.crc for each in run.events)
    found = Finding(lacks="" if acks else "no event `ack` with a checksum")
    disks = Disks()
    for each in run.events if acks else ():
        disks.take(each)
        if each.name != "ack" or not each.index:
            continue
        found.facts += 1
        if not disks.holds(each.node, each.index, each.crc):
            message = f"node {each.node} acked {each.index}, which was not on its disk"
            rows = [*_last_write(run, each), each.shows()]
            where = {"node": each.node, "index": each.index, "term": each.term}
            found.broken(DURABLE, message, rows, **where)
    return found


def _last_write(run: Run, ack: Event) -> list[Exhibit]:
    """What came to that disk last before the ack."""
    writes = [e for e in run.events if e.name == "durable" and e.whose == ack.whose]
    return [each.shows() for each in writes if each.number < ack.number][-1:]


RULE = Rule(DURABLE, "what is acked is on the disk", ("events",), find)
