"""The report of a run: `report.json`, and the same content as Markdown and HTML."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from admin.drills import markdown, measure, page
from admin.drills.expectations import JudgedRun
from admin.drills.hooks.running import HookRun
from admin.drills.measure import AckedWrite, Latencies
from admin.drills.record import RunEnd, StepRecord
from qsync.disk_errors import naming
from qsync.errors import ConfigError

SCHEMA = "qsync/drill-report/1"
FILE = "report.json"


def write(judged: JudgedRun, out: Path) -> dict[str, object]:
    """Write all three files; return the content of the JSON."""
    found = as_json(judged)
    with naming(out):
        (out / FILE).write_text(json.dumps(found, indent=2, default=str) + "\n", "utf-8")
        (out / "report.md").write_text(markdown.render(found), "utf-8")
        (out / "report.html").write_text(page.render(found), "utf-8")
    return found


def load(path: Path) -> dict[str, object]:
    """Read a report from its file or directory. Raises ConfigError."""
    file = path / FILE if path.is_dir() else path
    try:
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file}: is not a drill report: {error}") from error
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise ConfigError(f"{file}: is not a drill report ({SCHEMA})")
    return found


def as_json(judged: JudgedRun) -> dict[str, object]:
    """Return all data for the renderings. Times are seconds since the load began."""
    run = judged.run
    acked = [each for each in measure.writes(run.lines) if each.ended <= run.ended]
    struck = measure.faults(run.steps)
    fault = struck[0].begun if struck else run.begun
    over = run.steps[-1].ended if run.steps else run.ended
    return {
        "schema": SCHEMA,
        "drill": run.drill.name,
        "title": run.drill.title,
        "hypothesis": run.drill.hypothesis,
        "verdict": judged.end.value,
        "passed": judged.end is RunEnd.PASSED,
        "sentence": judged.sentence,
        "stopped": run.stopped,
        "seed": run.drill.seed,
        "began_at": run.began_at,
        "seconds": round(run.ended - run.begun, 3),
        "version": run.version,
        "cluster": run.cluster,
        "nodes": list(run.nodes),
        "targets": {name: list(nodes) for name, nodes in run.targets.items()},
        "measures": {name: _round(value) for name, value in judged.measures.items()},
        "expectations": [asdict(each) for each in judged.findings],
        "lost": [] if run.proof is None else list(run.proof.lost),
        "restored": [{"index": each.index, "term": each.term} for each in run.restored],
        "terms": {str(term): list(nodes) for term, nodes in run.terms.items()},
        "outcomes": _outcomes(judged, len(acked)),
        "latency": {
            "before": _latencies(measure.latencies(acked, run.begun, fault)),
            "during": _latencies(measure.latencies(acked, fault, over)),
            "after": _latencies(measure.latencies(acked, over, run.ended)),
        },
        "latency_by_time": _latency_by_time(acked, run.begun, run.ended),
        "gaps": [
            {"at": round(gap.begun - run.begun, 3), "seconds": round(gap.seconds, 3)}
            for gap in measure.gaps(acked, run.begun, over)
        ],
        "steps": [_step(step, run.begun) for step in run.steps],
        "commands": [_command(each, run.begun) for each in run.commands],
        "leaders": _leaders(judged),
        "writes": _buckets([each.ended - run.begun for each in acked], run.ended - run.begun),
        "events": [
            {
                "at": round(event.time - run.begun, 3),
                "node": event.node,
                "event": event.name,
                "fields": dict(event.fields),
            }
            for event in run.events
        ],
    }


PERCENTILES = ("p50", "p99", "max")
"""The drawn percentiles of each period."""
BUCKET_S = 0.1
"""The strip of write availability counts acknowledgements in periods of this length."""


PIECES_MAX = 120
"""The limit of periods with separate percentiles."""


def _latency_by_time(acked: Sequence[AckedWrite], begun: float, ended: float) -> dict[str, object]:
    """Return percentiles of each period, in seconds; None for a period without a write."""
    width = max(BUCKET_S, math.ceil((ended - begun) / PIECES_MAX / BUCKET_S) * BUCKET_S)
    found = measure.latencies_by_time(acked, begun, ended, width)
    return {
        "width": round(width, 3),
        "writes": [each.writes for each in found],
        **{name: [_round(getattr(each, name)) for each in found] for name in PERCENTILES},
    }


def _buckets(moments: Sequence[float], length: float) -> dict[str, object]:
    counts = [0] * (max(0, int(length / BUCKET_S)) + 1)
    for moment in moments:
        if 0 <= moment < length:
            counts[int(moment / BUCKET_S)] += 1
    return {"bucket": BUCKET_S, "counts": counts}


def _leaders(judged: JudgedRun) -> list[dict[str, object]]:
    """Return the periods in which a node reported that it led and accepted writes."""
    bands: list[dict[str, object]] = []
    open_bands: dict[str, dict[str, object]] = {}
    begun = judged.run.begun
    for observed in judged.run.observations:
        at = round(observed.time - begun, 3)
        band = open_bands.get(observed.node)
        if observed.up and observed.role == "leader" and not observed.ro:
            if band is None or band["term"] != observed.term:
                band = {"node": observed.node, "term": observed.term, "from": at, "to": at}
                open_bands[observed.node] = band
                bands.append(band)
            band["to"] = at
        elif band is not None:
            del open_bands[observed.node]
    return bands


def _step(step: StepRecord, begun: float) -> dict[str, object]:
    return {
        "text": step.text,
        "verb": step.verb,
        "nodes": list(step.nodes),
        "label": step.label,
        "from": round(step.begun - begun, 3),
        "to": round(step.ended - begun, 3),
        "error": step.error,
    }


def _command(run: HookRun, begun: float) -> dict[str, object]:
    return {
        "action": run.action,
        "command": run.command,
        "from": round(run.begun - begun, 3),
        "seconds": round(run.seconds, 3),
        "code": run.code,
        "error": run.error,
        "output": run.output,
    }


def _outcomes(judged: JudgedRun, acked: int) -> dict[str, object]:
    measures = judged.measures
    return {
        "acknowledged": acked,
        "failed": measures["failed"],
        "rolled_back": measures["rolled_back"],
        "unknown": measures["unknown"],
        "unresolved": measures["unresolved"],
    }


def _latencies(found: Latencies) -> Mapping[str, object]:
    return {
        name: _round(value) if isinstance(value, float) else value
        for name, value in asdict(found).items()
    }


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
