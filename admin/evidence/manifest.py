"""The manifest of a bundle of evidence: what run it is of, which nodes, and what is in it."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from qsync.errors import ConfigError

FORMAT = 1
"""Raised when a reader of the former format would misunderstand."""
MANIFEST = "manifest.json"
PART_ENTRIES = 65_536
"""Part `k` of every log holds the entries `k * PART_ENTRIES + 1 .. (k + 1) * PART_ENTRIES`."""


class NoEvidence(ConfigError):
    """It is no bundle of evidence, or one that this version cannot read."""

    code = "NO_EVIDENCE"
    number = 95


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts:
    """One node. `generation` counts the directories it has had; `uuid` names the present one.

    `confirmed`: its confirmed index, noted before any log of the bundle was read. `first`, `last`:
    what the bundle holds of its log. `problem`: why there is no more.
    """

    node: int
    generation: int = 1
    name: str = ""
    uuid: str = ""
    address: str = ""
    voter: bool = True
    confirmed: int = 0
    first: int = 1
    last: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """`source`: who wrote it (`nodes`, `directories`, `simulator`, `history`, `drill`, `demo`).

    `whole`: the cluster had come to rest, so nodes must be equal. `clock`: what `time_mono` is:
    `one` clock for all rows, or every node's `own`. `faults` says whether any were meant to be.
    `gaps`: of tables that are not whole, why.
    """

    run_id: str
    source: str
    format: int = FORMAT
    cluster: str = ""
    quorum: int = 0
    voters: int = 0
    seed: int | None = None
    command: str = ""
    clock: str = "one"
    whole: bool = False
    faults: bool = False
    part_entries: int = PART_ENTRIES
    nodes: tuple[NodeFacts, ...] = ()
    settings: dict[str, object] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    gaps: dict[str, str] = field(default_factory=dict)

    def save(self, folder: Path) -> None:
        """Replace the manifest of a folder in one step."""
        fresh = folder / f".{MANIFEST}.new"
        fresh.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")
        fresh.replace(folder / MANIFEST)

    @classmethod
    def load(cls, folder: Path) -> "Manifest":
        """Read it. Raises NoEvidence; members that are not known are passed over."""
        path = folder / MANIFEST
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            known = {name: found[name] for name in cls.__dataclass_fields__ if name in found}
            if known.get("format") != FORMAT:
                raise NoEvidence(f"{path} has format {known.get('format')}, known is {FORMAT}")
            known["nodes"] = tuple(_node(each) for each in known.get("nodes", ()))
            return cls(**known)
        except FileNotFoundError:
            raise NoEvidence(f"{folder} is no bundle of evidence: it has no {MANIFEST}") from None
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise NoEvidence(f"{path} cannot be read: {error}") from error


def _node(members: dict[str, object]) -> NodeFacts:
    names = NodeFacts.__dataclass_fields__
    return NodeFacts(**{name: members[name] for name in names if name in members})  # type: ignore[arg-type]  # checked where used
