"""Adds the stored spaces of stopped nodes to their bundle, with what their logs make of them."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from admin.evidence.bundle import LINES, Bundle, write_part
from admin.evidence.witnesses import StoppedNode

_TABLE = "digests"


def compare_stored(folder: Path, directories: Mapping[int, Path]) -> None:
    """Compare the spaces of stopped nodes with their logs; nodes with a problem are left out.

    Raises NoEvidence where what is stored cannot be read.
    """
    bundle = Bundle.open(folder)
    rows = list(bundle.rows(_TABLE))
    for facts in bundle.manifest.nodes:
        if facts.problem or facts.node not in directories:
            continue
        found = StoppedNode(directories[facts.node]).digests(facts.node)
        rows += [row | {"generation": facts.generation} for row in found]
    count = write_part(folder / f"{_TABLE}{LINES}", rows)
    manifest = replace(bundle.manifest, rows={**bundle.manifest.rows, _TABLE: count})
    Bundle(folder, manifest).seal()
