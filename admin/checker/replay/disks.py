"""What is on every disk, as the events tell it: checksums by index."""

from dataclasses import dataclass, field

from admin.checker.rules.run import NodeEvent


@dataclass(slots=True)
class DiskReplay:
    """Feed it all events in order."""

    held: dict[int, list[int]] = field(default_factory=dict)

    def apply(self, event: NodeEvent) -> None:
        """Something was written, cut, or found at a start."""
        if event.name not in {"durable", "cut", "started"}:
            return
        disk = self.held.setdefault(event.node, [0])
        if event.name == "durable":
            del disk[event.index :]
            disk.extend([-1] * (event.index - len(disk)))
            disk.append(event.crc)
        else:
            del disk[event.index + 1 :]

    def holds(self, node: int, index: int, crc: int) -> bool:
        """That very entry, and so that very prefix, is on the disk of this node."""
        disk = self.held.get(node, [0])
        return index < len(disk) and disk[index] == crc
