"""Small runs of which dice decide everything: mostly in order, sometimes not."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

from admin.checker.parquet import to_parquet
from admin.evidence.bundle import write
from admin.evidence.manifest import Manifest, NodeFacts
from admin.evidence.tables import Row

RUN = "dice"
TRUTH = 30
"""The entries that logs and disks have in common, if they tell the truth."""
SESSIONS = ("s", "t")
KEYS = ("a", "b", 3)
ACKED = (0, -1, *(1,) * 60, *(2, 3) * 10)
"""How far from the end of a disk, mostly, is what is acked, confirmed and cut."""
NAMES = ("started", "durable", "cut", "begins", "ack", "confirmed", "served")


def run(dice: Random, folder: Path) -> Path:
    """A bundle of lines, or of Parquet; its folder."""
    truth = [0, *(dice.randrange(1, 1 << 32) for _ in range(TRUTH))]
    log = _log(dice, dice.randrange(8, 50))
    for row, crc in zip(log, truth[1:], strict=False):
        row["crc"] = crc
    size = len(log)
    logs = [row | {"node": node, "generation": 1} for node in (1, 2) for row in _fork(dice, log)]
    nodes = tuple(
        NodeFacts(
            node=node,
            confirmed=dice.randrange(size + 3),
            last=size,
            recorded=dice.random() < 0.9,
            first=1 + (dice.random() < 0.1),
        )
        for node in (1, 2)
    )
    quorum = dice.choice((0, 1, 1, 1, 2))
    manifest = Manifest(run_id=RUN, source="dice", voters=3, quorum=quorum, nodes=nodes)
    tables = {
        "wal": logs,
        "ops": list(_ops(dice, log)),
        "feeds": list(_feeds(dice, log)),
        "events": list(_events(dice, truth)),
        "status": list(_status(dice, size)),
    }
    dice.shuffle(logs)
    bundle = write(folder / "lines", manifest, dict(tables))
    return to_parquet(bundle, folder / "parquet").path if dice.random() < 0.5 else bundle.path


def _events(dice: Random, truth: list[int]) -> Iterator[Row]:
    """What three disks took, what nodes acked and confirmed of it; now and then a lie."""
    disks: dict[int, list[int]] = {1: [0], 2: [0], 3: [0]}
    for number in range(dice.randrange(3, 90)):
        node = dice.randrange(1, 4)
        disk, name = disks[node], dice.choice((*NAMES, *NAMES[1:2] * 6))
        back = dice.choice((0, 0, 0, 0, 1, 1, 1, 2, 3, -1) if name == "durable" else ACKED)
        # A log begins behind an entry, if not with the first one.
        index = min(max(len(disk) - back, int(name == "begins")), TRUTH)
        crc = truth[index] if dice.random() < 0.97 else dice.randrange(3)
        row: Row = {"node": node, "generation": 1, "life": 1, "number": number, "time_mono": number}
        row |= {"name": name, "index": index, "term": dice.randrange(1, 3)}
        if name == "durable":
            del disk[index:]
            disk += [0] * (index - len(disk)) + [crc]
        elif name in {"cut", "started"}:
            del disk[index + 1 :]
        elif name == "begins" and disk[index : index + 1] != [crc]:
            disk[:] = [0] * index + [crc]
        if name == "served" and dice.random() < 0.9:
            row |= {"floor": index + (1 if dice.random() < 0.1 else -1)}
        yield row if name in {"cut", "started"} or dice.random() < 0.02 else row | {"crc": crc}


def _status(dice: Random, size: int) -> Iterator[Row]:
    time = 0
    for sample in range(dice.randrange(12)):
        time += dice.choice((0, 5, 5, 5, 5, 5, 5, 5, 5, -1))
        row: Row = {"node": dice.randrange(1, 3), "generation": 1, "life": dice.randrange(1, 3)}
        row |= {"sample": sample, "time_mono": time, "role": "follower", "term": 1}
        yield row | {"confirmed": dice.choice((None, 0, dice.randrange(size))), "written": 0}


def _log(dice: Random, size: int) -> list[Row]:
    term, log = 1, list[Row]()
    kinds = dice.choice(("TTTTC", "TTTTCR", "TTTTTR"))
    for index in range(1, size + 1):
        term += dice.random() < 0.05
        kind = {"T": "TXN", "C": "CONFIRM", "R": "ROLLBACK"}[dice.choice(kinds)]
        row: Row = {"index": index, "term": term, "kind": kind, "origin": 1, "lsn": index}
        row |= {"flags": int(kind == "TXN"), "crc": dice.randrange(1 << 32)}
        if kind == "TXN":
            row |= {"space": dice.choice((512, 512, 513, 300, None))}
            row |= {"session": dice.choice(SESSIONS), "seq": dice.choice((index, index, 3))}
        elif index > 1:
            row |= {"ref_owner": 1, "ref_lsn": max(index - dice.randrange(1, 6), 1)}
        log.append(row)
    return log


def _fork(dice: Random, log: list[Row]) -> list[Row]:
    """The same, or another end."""
    keep = len(log) if dice.random() < 0.6 else dice.randrange(1, len(log) + 1)
    begin = 0 if dice.random() < 0.9 else dice.randrange(len(log))
    tail = [dict(row) for row in _log(dice, len(log))[keep:]] if dice.random() < 0.3 else []
    return [dict(row) for row in log[begin:keep]] + tail


def _ops(dice: Random, log: list[Row]) -> Iterator[Row]:
    asked = [row for row in log if row["kind"] == "TXN"]
    for number in range(dice.randrange(60) if asked else 0):
        row = dice.choice(asked)
        index = int(str(row["index"]))
        time = number - 2 * (dice.random() < 0.005)
        line: Row = {"index": number, "time": time, "process": number}
        line |= {"key": dice.choice(KEYS) if dice.random() < 0.1 else KEYS[index % 3]}
        if dice.random() < 0.1:
            steps = dice.choice(([["append", 1, index]], [["r", 1, None]], [], None))
            yield line | {"f": "txn", "type": dice.choice(("ok", "info")), "value": steps}
            continue
        if dice.random() < 0.35:
            yield line | {"f": "read", "type": "ok", "value": index}
            continue
        f, value = dice.choice((("write", index), ("cas", [0, index])))
        line |= {"f": f, "value": value, "session": row["session"], "seq": row["seq"]}
        line |= {"type": dice.choice(("ok", "ok", "ok", "fail", "info", "invoke"))}
        if dice.random() < 0.1:
            line |= {"seq": dice.choice((0, 1, 2, None))}
        if dice.random() < 0.9:
            line |= {"log_index": index, "term": row["term"]}
        yield line


def _feeds(dice: Random, log: list[Row]) -> Iterator[Row]:
    given = [row for row in log if row["kind"] == "TXN"]
    after = [0, 0]
    for number in range(dice.randrange(8)):
        reader = dice.randrange(2)
        upto = min(after[reader] + dice.randrange(1, 12), len(log))
        span = range(after[reader] + 1, upto + 1)
        places = [[row["index"], row["term"]] for row in given if row["index"] in span]
        if places and dice.random() < 0.2:
            extra: list[object] = [upto, 1]
            places = dice.choice((places[1:], places[::-1], [*places, extra]))
        row: Row = {"reader": reader, "number": number, "after": after[reader], "upto": upto}
        after[reader] = upto - (dice.random() < 0.1)
        yield row | {"places": places}
