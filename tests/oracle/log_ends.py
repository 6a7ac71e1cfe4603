"""What a stopped node had on its disk by its events is in its log."""

from dataclasses import dataclass, field

from admin.checker.rules import texts
from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import NodeEvent, RunTables, Whose

KEPT = "durable-kept"


@dataclass(slots=True)
class _Disk:
    """The events that wrote its entries, by index. All up to `begins` is in a snapshot."""

    begins: int = 0
    wrote: dict[int, NodeEvent] = field(default_factory=dict)

    def apply(self, each: NodeEvent) -> None:
        """Take the next event."""
        if each.name == "begins":
            known = self.wrote.get(each.index)
            if known is None or known.crc != each.crc:
                self.begins, self.wrote = each.index, {each.index: each}
        elif each.name == "durable":
            self._cut(each.index - 1)
            self.wrote[each.index] = each
        elif each.name in {"cut", "started"}:
            self._cut(each.index)

    def _cut(self, above: int) -> None:
        self.begins = min(self.begins, above)
        self.wrote = {index: each for index, each in self.wrote.items() if index <= above}


def find(run: RunTables) -> RuleFinding:
    """A log that is a beginning of what was on the disk has lost its end."""
    if "events" in run.manifest.gaps:
        return RuleFinding(lacks=run.manifest.gaps["events"])
    disks: dict[Whose, _Disk] = {}
    for each in run.events:
        if each.name in {"begins", "durable", "cut", "started"}:
            disks.setdefault(each.whose, _Disk()).apply(each)
    found = RuleFinding()
    for facts in run.manifest.nodes:
        if facts.whose not in disks or not facts.recorded or facts.problem:
            continue
        found.facts += 1
        disk, log = disks[facts.whose], run.logs.get((facts.node, facts.generation))
        had = max(disk.wrote, default=0)
        end = 0 if log is None else log.last
        if log is None:
            lost = facts.first <= 1
        else:
            known = disk.wrote.get(end)
            lost = end < disk.begins or (known is not None and known.crc == log.crc[-1])
        if end < had and lost:
            rows = [
                disk.wrote[had].shows(),
                *([] if log is None else log.shows(len(log.index) - 1)),
            ]
            message = texts.ends_before_durable(facts.node, had, end)
            found.broken(KEPT, message, rows, node=facts.node, index=had)
    return found
