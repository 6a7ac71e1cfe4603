"""A quorum of disks before every confirm, followed event by event inside of Spark tasks."""

from collections.abc import Callable, Iterator

from admin.checker.spark.found import BREACH, FACTS, Found
from admin.checker.spark.scanning import Batches, Given, batch

_COLUMNS = ("run_id", "node", "name", "index", "crc")
_QUORUM = "quorum-before-confirm"
Event = tuple[str, int, str, int, int]
"""Run, node, name, index, CRC."""


class Disks:
    """What is on the disks of one run: by node the checksums, in the order of indexes."""

    def __init__(self, run_id: str, quorum: int) -> None:
        self.run_id = run_id
        self._quorum = quorum
        self._disks: dict[int, list[int]] = {}
        self._highest = 0

    def event(self, node: int, name: str, index: int, crc: int) -> Iterator[Found]:
        """The next one, and what it shows."""
        disk = self._disks.setdefault(node, [0])
        if name == "durable":
            del disk[index:]
            disk.extend([-1] * (index - len(disk)))
            disk.append(crc)
        elif name in {"cut", "started"}:
            del disk[index + 1 :]
        elif name == "confirmed" and index > self._highest and self._quorum:
            self._highest = index
            have = sum(index < len(each) and each[index] == crc for each in self._disks.values())
            yield Found(self.run_id, FACTS, _QUORUM, amount=1)
            if have < self._quorum:
                text = f"node {node} confirmed {index}, which {have} disks have"
                yield Found(self.run_id, BREACH, _QUORUM, node, index=index, message=text)


def disks(given: Given) -> Callable[[Batches], Batches]:
    """For rows of `events`, sorted by run and number."""

    def run(batches: Batches) -> Batches:
        followed = Disks("", 0)
        for rows in batches:
            found: list[Found] = []
            columns = [rows.column(name).to_pylist() for name in _COLUMNS]
            for run_id, node, name, index, crc in zip(*columns, strict=True):
                if run_id != followed.run_id:
                    followed = Disks(run_id, given.quorum.get(run_id, 0))
                found += followed.event(node, name, index or 0, crc or 0)
            yield batch(found)

    return run
