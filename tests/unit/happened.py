"""Runs that are nothing but the events of their nodes."""

from admin.checker.rules.run import RunTables, build
from admin.evidence.manifest import Manifest
from admin.evidence.tables import Row


def happened(manifest: Manifest, *said: tuple[str, int, int, int]) -> RunTables:
    """Events by name, node, directory and index, all of term 1, in which node 1 leads."""
    events: list[Row] = [
        {
            "node": node,
            "generation": generation,
            "life": generation,
            "number": number,
            "time_mono": number,
            "name": name,
            "term": 1,
            "index": index,
            "crc": index,
            "peer": 1,
        }
        for number, (name, node, generation, index) in enumerate(said)
    ]
    return build(manifest, {"events": events})
