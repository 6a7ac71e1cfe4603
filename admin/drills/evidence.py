"""The evidence of a run in one directory: a bundle for `qsync check`, and logs for people."""

import json
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

from admin.cluster import settling
from admin.drills.measure import faults
from admin.drills.place import DrillPlace, PlaceNode
from admin.drills.record import RunRecord, StepRecord, TimelineEvent
from admin.drills.verbs.catalogue import VERBS
from admin.evidence.bundle import Bundle, write_part
from admin.evidence.collect import Dump
from admin.evidence.manifest import NodeFacts
from admin.evidence.rows import status_row
from admin.evidence.tables import Row
from admin.evidence.witnesses import EvidenceSource, Running
from admin.lab.lab import Lab, LabNode
from admin.workload.history import HistoryLine, save
from admin.workload.restored import stretches, without_places
from qsync.client.one_node import NodeConnection
from qsync.errors import QsyncError
from qsync.line_files import object_of

_ASK_S = 10.0
_NS = 1_000_000_000
_TIMELINES = ("timeline.1.jsonl", "timeline.jsonl")


def events(place: DrillPlace, *, since: float) -> tuple[TimelineEvent, ...]:
    """Return the events in all nodes' timelines since a moment, on the monotonic clock.

    They are in the directories of the nodes, so a cluster on other machines has none.
    """
    if not isinstance(place, Lab):
        return ()
    ahead = datetime.now(UTC).timestamp() - time.monotonic()
    found = [
        _event(node.name, event, ahead)
        for node in place.nodes
        for file in _TIMELINES
        if (node.dir / file).exists()
        for text in (node.dir / file).read_text("utf-8").splitlines()
        if (event := object_of(text)) is not None
    ]
    return tuple(sorted((each for each in found if each.time >= since), key=lambda e: e.time))


def save_all(run: RunRecord, place: DrillPlace, out: Path, *, source: str, command: str) -> None:
    """Write everything except the reports: a bundle for the checker, and logs for people."""
    told = _history(run, out)
    save(told, out / "history.jsonl")
    bundle = _dump(run, place, out, source)
    counted = {
        "status": write_part(out / "status.jsonl", _status(run, bundle)),
        "nemesis": write_part(out / "nemesis.jsonl", _nemesis(run.steps)),
        "feeds": write_part(out / "feeds.jsonl", run.feeds),
        "ops": len(told),
    }
    manifest = replace(
        bundle.manifest,
        seed=run.drill.seed,
        command=command,
        whole=run.proof is not None,
        faults=any(VERBS[step.verb].spec.faults for step in run.steps),
        rows={**bundle.manifest.rows, **counted},
    )
    Bundle(out, manifest).seal()
    _write(out / "timeline.jsonl", (_of_event(event) for event in run.events))
    _write(out / "drill.json", [asdict(run.drill)])
    for node in place.nodes if isinstance(place, Lab) else ():
        if node.log.exists():
            (out / "logs").mkdir(exist_ok=True)
            shutil.copyfile(node.log, out / "logs" / f"{node.name}.log")


def _history(run: RunRecord, out: Path) -> Sequence[HistoryLine]:
    """Write the history that matches the nodes' logs; after a restore also a second file.

    The first file has the restored part of the earlier history and all later requests; the second
    has the full history.
    """
    if not run.restored:
        return run.lines
    save(run.lines, out / "history-whole.jsonl")
    return without_places(stretches(run.lines, run.restored)[-1], run.restored[-1])


def _dump(run: RunRecord, place: DrillPlace, out: Path, source: str) -> Bundle:
    """Write logs, digests and a last status of nodes that answer; the manifest names the others."""
    run_id = f"{run.drill.name}-{run.began_at}"
    if run.proof is not None:
        settling.wait_at_rest(place.addresses)
    with ExitStack() as lines:
        known: list[EvidenceSource] = []
        silent: list[NodeFacts] = []
        for node in place.nodes:
            try:
                known.append(
                    Running(lines.enter_context(NodeConnection(node.address, timeout=_ASK_S)))
                )
            except QsyncError as error:
                silent.append(
                    NodeFacts(node=_id_of(run, node), name=node.name, problem=error.message)
                )
        bundle = Dump(out, run_id=run_id, directories=place.directories).collect(
            known, source=source
        )
    nodes = (*bundle.manifest.nodes, *silent)
    voters = bundle.manifest.voters or len(silent)
    return Bundle(out, replace(bundle.manifest, nodes=nodes, voters=voters))


def _id_of(run: RunRecord, node: PlaceNode) -> int:
    """Return the id from the lab or from the samples; 0 for a node never seen."""
    if isinstance(node, LabNode):
        return node.id
    seen = (each.sample for each in run.observations if each.node == node.name)
    return next((sample.id for sample in seen if sample is not None), 0)


def _status(run: RunRecord, bundle: Bundle) -> list[Row]:
    """Return the samples of the run, and the last status of the nodes.

    Samples of a lost directory, or of one whose log was set aside, have no log to compare with. A
    restored cluster has fewer voters while it grows from one node.
    """
    whole = max((step.ended for step in run.steps if step.verb == "restore"), default=0.0)
    present = {each.uuid: each for each in bundle.manifest.nodes}
    begun = {each.node: each.time for each in run.events if each.name == "admitted"}
    seen = [
        status_row(
            observed.sample,
            number=0,
            life=observed.sample.pid,
            time_mono=int(observed.time * _NS),
            generation=present[observed.sample.uuid].generation,
        )
        for observed in run.observations
        if observed.sample is not None
        and observed.sample.uuid in present
        and observed.time >= max(whole, begun.get(observed.node, 0.0))
    ]
    return [row | {"sample": at} for at, row in enumerate([*seen, *bundle.rows("status")])]


def _nemesis(steps: Sequence[StepRecord]) -> list[Row]:
    """Return the steps that had an effect, each with its end."""
    return [
        {
            "number": number,
            "f": step.verb,
            "type": "info",
            "time_mono": int(step.begun * _NS),
            "value": {"text": step.text, "nodes": list(step.nodes), "seconds": step.seconds},
        }
        for number, step in enumerate(faults(steps), start=1)
    ]


def _event(node: str, found: Mapping[str, object], ahead: float) -> TimelineEvent:
    at = datetime.fromisoformat(str(found["time"])).timestamp() - ahead
    rest = {name: value for name, value in found.items() if name not in {"time", "event"}}
    return TimelineEvent(time=at, node=node, name=str(found["event"]), fields=rest)


def _of_event(event: TimelineEvent) -> dict[str, object]:
    return {"time": event.time, "node": event.node, "event": event.name, **event.fields}


def _write(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, default=_plain) + "\n" for row in rows)


def _plain(value: object) -> object:
    return value.hex() if isinstance(value, bytes) else str(value)
