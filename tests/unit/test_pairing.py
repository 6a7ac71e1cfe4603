"""Lines of a history become the same operations wherever they are cut."""

import random

import pytest

pytest.importorskip("pyarrow", reason="needs the [spark] extra")

import pyarrow as pa

from admin.checker.operation import ANOTHER
from admin.checker.spark.clients.pairing import SCHEMA, paired
from admin.evidence.arrow import batch
from admin.evidence.tables import Row
from tests.unit.ends import OTHERS, SAME

PROCESSES = 60


def history(dice: random.Random, lines: int) -> list[Row]:
    """Processes that begin and end in any order; some are never answered, and never come back."""
    open_: dict[int, Row] = {}
    gone: set[int] = set()
    found: list[Row] = []
    while len(found) < lines and len(gone) < PROCESSES:
        process = dice.choice([each for each in range(PROCESSES) if each not in gone])
        begun = open_.pop(process, None)
        known: Row = {"run_id": "r", "index": len(found), "time": len(found), "process": process}
        if begun is not None:
            end = dice.choice(["ok", "ok", "fail", "info"])
            found.append({**begun, **known, "type": end, "term": 1, "lsn": len(found)})
        else:
            write = dice.random() < 0.5
            value = str(len(found)) if write else None
            known |= {"f": "write" if write else "read", "key": '"k"', "value": value}
            found.append(known | {"type": "invoke"})
            open_[process] = known
            if dice.random() < 0.02:
                gone.add(process)
    return found


def operations(rows: list[Row], widths: random.Random | None) -> list[dict[str, object]]:
    """As they are paired from tables of some lines each, or of all at once."""
    tables, at = [], 0
    while at < len(rows):
        width = len(rows) if widths is None else widths.randint(1, 40)
        tables.append(pa.Table.from_batches([batch("ops", rows[at : at + width])]))
        at += width
    found = pa.concat_tables(paired(tables, logged=False))
    assert found.schema == SCHEMA
    listed: list[dict[str, object]] = found.sort_by("number").to_pylist()
    return listed


@pytest.mark.parametrize("seed", range(20))
def test_wherever_a_history_is_cut_its_operations_are_the_same(seed: int) -> None:
    dice = random.Random(seed)
    rows = history(dice, 600)
    whole = operations(rows, None)
    assert len(whole) == sum(row["type"] == "invoke" for row in rows)
    for _ in range(3):
        assert operations(rows, dice) == whole


@pytest.mark.parametrize(("begun", "ended"), OTHERS)
def test_an_end_of_another_operation_is_refused(begun: Row, ended: Row) -> None:
    with pytest.raises(ValueError, match=f"process 7 {ANOTHER}, at line 3: "):
        operations(lines_of(begun, ended), None)


@pytest.mark.parametrize(("begun", "ended"), SAME)
def test_an_end_that_says_the_same_is_taken(begun: Row, ended: Row) -> None:
    assert len(operations(lines_of(begun, ended), None)) == 2


def lines_of(begun: Row, ended: Row) -> list[Row]:
    """A history of two processes."""
    other: Row = {"f": "read", "key": "other", "process": 1}
    rows: list[Row] = [
        {**other, "type": "invoke"},
        {**begun, "process": 7, "type": "invoke"},
        {**other, "type": "ok"},
        {"type": "ok", **ended, "process": 7},
    ]
    return [row | {"run_id": "r", "index": at, "time": at} for at, row in enumerate(rows)]
