"""An ack is of what is on the disk, followed event by event inside of Spark tasks."""

from typing import TYPE_CHECKING

from admin.checker.spark.found import BREACH, DDL, FACTS, Found
from admin.checker.spark.invariants.queries import Tables
from admin.checker.spark.scanning import Batches, batch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ID = "ack-durable"
_COLUMNS = ("run_id", "node", "name", "index", "term", "crc")


def durable(tables: Tables) -> "DataFrame":
    """A disk for each node of each run."""
    events = tables["events"].where("name in ('started', 'durable', 'cut', 'ack')")
    by_node = events.repartition("run_id", "node")
    return by_node.sortWithinPartitions("run_id", "node", "number").mapInArrow(_follow, DDL)


def _follow(batches: Batches) -> Batches:
    whose, disk = ("", 0), [0]
    for rows in batches:
        found: list[Found] = []
        columns = [rows.column(name).to_pylist() for name in _COLUMNS]
        for run_id, node, name, at, term, crc in zip(*columns, strict=True):
            index = at or 0
            if (run_id, node) != whose:
                whose, disk = (run_id, node), [0]
            if name == "durable":
                del disk[index:]
                disk.extend([-1] * (index - len(disk)))
                disk.append(crc or 0)
            elif name != "ack":
                del disk[index + 1 :]
            elif index and crc is not None:
                found.append(Found(run_id, FACTS, _ID, amount=1))
                if index >= len(disk) or disk[index] != crc:
                    text = f"node {node} acked {index}, which was not on its disk"
                    found.append(Found(run_id, BREACH, _ID, node, 0, index, term, 0, text))
        yield batch(found)
