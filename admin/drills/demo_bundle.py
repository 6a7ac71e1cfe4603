"""What a demo that is kept leaves behind: a bundle of evidence that the checker judges."""

import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from admin.cluster import surveys
from admin.cluster.surveys import ClusterSurvey
from admin.evidence.bundle import Bundle, write_part
from admin.evidence.collect import Dump
from admin.evidence.sampling import SampleRecorder
from admin.evidence.tables import Row
from admin.evidence.witnesses import witnesses
from admin.lab.lab import Lab


@dataclass(slots=True)
class DemoRecording:
    """What was seen while it ran."""

    samples: SampleRecorder = field(default_factory=SampleRecorder)
    nemesis: list[Row] = field(default_factory=list)
    feeds: list[Row] = field(default_factory=list)

    def saw(self, found: ClusterSurvey) -> None:
        """What the nodes said of themselves."""
        for each in found.samples:
            self.samples.heard(each)

    def struck(self, what: str, node: int) -> None:
        """A fault was made, or ended."""
        number, now = len(self.nemesis) + 1, time.monotonic_ns()
        row: Row = {"number": number, "f": what, "type": "info", "time_mono": now, "value": node}
        self.nemesis.append(row)

    def save(self, lab: Lab, folder: Path, *, seed: int, lines: int) -> None:
        """Beside the history: logs, digests, samples and faults of a cluster that is healed."""
        surveys.wait_at_rest(lab.addresses)
        with witnesses(lab.addresses) as known:
            dump = Dump(folder, run_id=f"demo-{seed}", directories=lab.directories)
            bundle = dump.collect(known, source="demo")
        last = bundle.rows("status")
        status = [row | {"sample": at} for at, row in enumerate([*self.samples.rows, *last])]
        counted = {
            "status": write_part(folder / "status.jsonl", status),
            "nemesis": write_part(folder / "nemesis.jsonl", self.nemesis),
            "feeds": write_part(folder / "feeds.jsonl", self.feeds),
            "ops": lines,
        }
        manifest = replace(
            bundle.manifest,
            seed=seed,
            command=f"qsync demo --seed {seed}",
            whole=True,
            faults=bool(self.nemesis),
            rows={**bundle.manifest.rows, **counted},
        )
        Bundle(folder, manifest).seal()
