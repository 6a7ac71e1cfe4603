"""The evidence of a run in one directory: history, samples, events, faults, logs, digests."""

import json
import shutil
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from admin import logs
from admin.ask import Line
from admin.drills.record import Event, Recorded
from admin.history import save
from admin.lab import Lab, LabNode
from qsync.errors import QsyncError

SCHEMA = "qsync/evidence/1"
LOG_ENTRIES_MAX = 100_000
"""Of each node's log, from its begin; a longer one is cut off here, and the manifest says so."""
_ASK_S = 10.0
_TIMELINES = ("timeline.1.jsonl", "timeline.jsonl")


def events(lab: Lab, *, since: float) -> tuple[Event, ...]:
    """What the timelines of all nodes say since a moment, on the monotonic clock."""
    ahead = datetime.now(UTC).timestamp() - time.monotonic()
    found = [
        _event(node.name, json.loads(text), ahead)
        for node in lab.nodes
        for file in _TIMELINES
        if (node.dir / file).exists()
        for text in (node.dir / file).read_text("utf-8").splitlines()
        if _is_whole(text)
    ]
    return tuple(sorted((each for each in found if each.time >= since), key=lambda e: e.time))


def save_all(run: Recorded, lab: Lab, out: Path) -> None:
    """Write everything but the reports."""
    save(run.lines, out / "history.jsonl")
    _write(out / "status.jsonl", (sight.as_json() for sight in run.sights))
    _write(out / "events.jsonl", (_of_event(event) for event in run.events))
    _write(out / "nemesis.jsonl", (asdict(mark) for mark in run.marks))
    digests = {} if run.proof is None else run.proof.digests
    _write(
        out / "digests.jsonl",
        (
            {"node": node, "space": space, "digest": digest}
            for node, spaces in digests.items()
            for space, digest in spaces.items()
        ),
    )
    wal = {node.name: _log(node, out / "wal") for node in lab.nodes}
    _write(out / "drill.json", [asdict(run.drill)])
    for node in lab.nodes:
        if node.log.exists():
            (out / "logs").mkdir(exist_ok=True)
            shutil.copyfile(node.log, out / "logs" / f"{node.name}.log")
    manifest = {
        "schema": SCHEMA,
        "run_id": f"{run.drill.name}-{run.began_at}",
        "kind": "drill",
        "cluster": run.cluster,
        "version": run.version,
        "nodes": [{"name": node.name, "id": node.id} for node in lab.nodes],
        "clock": "monotonic of the runner; seconds, in the history nanoseconds",
        "tables": {
            "ops": "history.jsonl",
            "status": "status.jsonl",
            "events": "events.jsonl",
            "nemesis": "nemesis.jsonl",
            "digests": "digests.jsonl",
            "wal": wal,
        },
    }
    (out / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", "utf-8")


def _log(node: LabNode, directory: Path) -> dict[str, object]:
    """The log of one node as JSON lines, asked while it runs."""
    directory.mkdir(exist_ok=True)
    path = directory / f"{node.name}.jsonl"
    count = 0
    try:
        with Line(node.address, timeout=_ASK_S) as line, path.open("w", encoding="utf-8") as file:
            for entry in islice(logs.entries(logs.Online(line)), LOG_ENTRIES_MAX):
                file.write(json.dumps(logs.as_members(entry), default=_plain) + "\n")
                count += 1
    except QsyncError as error:
        return {"file": f"wal/{path.name}", "entries": count, "incomplete": str(error)}
    found: dict[str, object] = {"file": f"wal/{path.name}", "entries": count}
    return found | ({"incomplete": "too long"} if count == LOG_ENTRIES_MAX else {})


def _event(node: str, found: Mapping[str, object], ahead: float) -> Event:
    at = datetime.fromisoformat(str(found["time"])).timestamp() - ahead
    rest = {name: value for name, value in found.items() if name not in {"time", "event"}}
    return Event(time=at, node=node, name=str(found["event"]), fields=rest)


def _of_event(event: Event) -> dict[str, object]:
    return {"time": event.time, "node": event.node, "event": event.name, **event.fields}


def _is_whole(text: str) -> bool:
    """A crash may tear the last line of a timeline."""
    return text.startswith("{") and text.endswith("}")


def _write(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, default=_plain) + "\n" for row in rows)


def _plain(value: object) -> object:
    return value.hex() if isinstance(value, bytes) else str(value)
