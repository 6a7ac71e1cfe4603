"""The content of every disk, according to the events: checksums by index."""

from dataclasses import dataclass, field

from admin.checker.rules.run import NodeEvent, Whose

CHANGES = frozenset({"durable", "cut", "started", "begins"})
"""Events that change the content of a disk."""


@dataclass(slots=True)
class DiskLog:
    """The log on one disk. Entries before `first` are in a snapshot, with unknown checksums."""

    first: int = 0
    crcs: list[int] = field(default_factory=lambda: [0])

    def __len__(self) -> int:
        """The index after the last one."""
        return self.first + len(self.crcs)

    def holds(self, index: int, crc: int) -> bool:
        """Whether it has this entry, as far as is known."""
        return index < self.first or (index < len(self) and self.crcs[index - self.first] == crc)

    def apply(self, event: NodeEvent) -> None:
        """One of CHANGES."""
        if event.name == "begins":
            if self.first <= event.index < len(self) and self.holds(event.index, event.crc):
                return  # it only lost the entries before that one
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

    held: dict[Whose, DiskLog] = field(default_factory=dict)
    """By node and directory: a lost disk stays what it was (membership.md M5 c)."""

    def apply(self, event: NodeEvent) -> None:
        """Apply a write, a cut, or what was found at a start."""
        if event.name in CHANGES:
            self.held.setdefault(event.whose, DiskLog()).apply(event)

    def holds(self, whose: Whose, index: int, crc: int) -> bool:
        """Whether this entry, and so the same prefix, is on this disk."""
        return self.held.get(whose, DiskLog()).holds(index, crc)
