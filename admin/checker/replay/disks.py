"""What is on every disk, as the events tell it: checksums by index."""

from dataclasses import dataclass, field

from admin.checker.rules.run import NodeEvent

CHANGES = frozenset({"durable", "cut", "started", "begins"})
"""Events that change what is on a disk."""


@dataclass(slots=True)
class DiskLog:
    """The log on one disk. What is before `first` is in a snapshot: there, and known no more."""

    first: int = 0
    crcs: list[int] = field(default_factory=lambda: [0])

    def __len__(self) -> int:
        """Behind the last index."""
        return self.first + len(self.crcs)

    def holds(self, index: int, crc: int) -> bool:
        """That very entry, as far as it is known."""
        return index < self.first or (index < len(self) and self.crcs[index - self.first] == crc)

    def apply(self, event: NodeEvent) -> None:
        """One of CHANGES."""
        if event.name == "begins":
            if self.first <= event.index < len(self) and self.holds(event.index, event.crc):
                return  # it only lost what was before that entry
            self.first, self.crcs = event.index, [event.crc]
        elif event.name == "durable":
            self.first = min(self.first, event.index)
            del self.crcs[event.index - self.first :]
            self.crcs.extend([-1] * (event.index - len(self)))
            self.crcs.append(event.crc)
        elif event.index < self.first:
            self.first, self.crcs = event.index + 1, []  # of another directory
        else:
            del self.crcs[event.index + 1 - self.first :]


@dataclass(slots=True)
class DiskReplay:
    """Feed it all events in order."""

    held: dict[int, DiskLog] = field(default_factory=dict)

    def apply(self, event: NodeEvent) -> None:
        """Apply a write, a cut, or what was found at a start."""
        if event.name in CHANGES:
            self.held.setdefault(event.node, DiskLog()).apply(event)

    def holds(self, node: int, index: int, crc: int) -> bool:
        """That very entry, and so that very prefix, is on the disk of this node."""
        return self.held.get(node, DiskLog()).holds(index, crc)
