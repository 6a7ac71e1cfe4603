"""The log of a node in a file of its own: from `qsync log cat --json`, or a part of `wal`."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from admin.evidence import opening
from admin.evidence.bundle import Bundle, write
from admin.evidence.manifest import Manifest, NodeFacts, NoEvidence
from admin.evidence.tables import WAL, Row

_WHOSE = frozenset({"node", "generation"})
NEEDED = WAL.needed - _WHOSE
"""By these a line is one of an entry."""


def is_log(path: Path) -> bool:
    """Return whether the file begins with an entry."""
    try:
        with path.open("rb") as file:
            first = json.loads(file.readline())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(first, dict) and first.keys() >= NEEDED


def as_bundle(path: Path, folder: Path) -> Bundle:
    """Make a bundle of that log in a folder. Raises NoEvidence."""
    made = write(folder, Manifest(run_id=path.name, source="log"), {"wal": _rows(path)})
    seen: dict[int, _Seen] = defaultdict(_Seen)
    for row in made.rows("wal"):
        seen[number(row, "node")].apply(row)
    nodes = tuple(
        NodeFacts(node=node, last=each.last, confirmed=each.confirmed)
        for node, each in sorted(seen.items())
    )
    manifest = replace(made.manifest, nodes=nodes)
    manifest.save(folder)
    return Bundle(folder, manifest)


@dataclass(slots=True)
class _Seen:
    """How far a log goes, and how far its own CONFIRMs do."""

    last: int = 0
    confirmed: int = 0
    places: dict[tuple[int, int], int] = field(default_factory=dict)

    def apply(self, row: Row) -> None:
        """Take the next entry."""
        self.last = number(row, "index")
        self.places[number(row, "origin"), number(row, "lsn")] = self.last
        if row["kind"] == "CONFIRM":
            named = self.places.get((number(row, "ref_owner"), number(row, "ref_lsn")), 0)
            self.confirmed = max(self.confirmed, named)


def number(row: Row, name: str) -> int:
    """Return the number that the reader of bundles takes; 0 for none."""
    found = row.get(name)
    return found if isinstance(found, int) else 0


def _rows(path: Path) -> Iterator[Row]:
    """Return the entries; without a named node they are node 1's."""
    with path.open("rb") as file:
        for at, line in enumerate(file, start=1):
            if line.strip():
                yield _row(line, f"line {at} of {path}")


def _row(line: bytes, where: str) -> Row:
    try:
        found = json.loads(line)
        if not isinstance(found, dict) or not found.keys() >= NEEDED:
            raise ValueError("it is no entry of a log")  # noqa: TRY301 - reported like errors of JSON
        renamed = _renamed(found)
    except RecursionError as error:
        raise NoEvidence(f"{where} cannot be read: it is nested too deep") from error
    except ValueError as error:
        raise NoEvidence(f"{where} cannot be read: {error}") from error
    row: Row = {"node": 1, "generation": 1, **found}
    return {name: row[name] for name in WAL.columns if name in row} | renamed


def _renamed(found: Mapping[str, object]) -> Row:
    """Return a line of `qsync log cat` with the names of our columns."""
    renamed: Row = {}
    ref, effects = found.get("ref"), found.get("effects")
    if isinstance(ref, dict):
        renamed |= {"ref_owner": ref.get("owner"), "ref_lsn": ref.get("lsn")}
    if isinstance(effects, list):
        renamed |= {"session": found.get("session") or None, "seq": found.get("seq") or None}
        renamed["effects"] = len(effects)
        renamed |= _first(effects[0]) if effects else {}
    return renamed


def _first(effect: object) -> Row:
    match effect:
        case [int(space), str(key), _]:
            row: Row = {"space": space, "key_hash": opening.key_hash(space, bytes.fromhex(key))}
            return row
        case _:
            return {}
