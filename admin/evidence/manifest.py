"""The manifest of a bundle of evidence: the run, its nodes, and the tables."""

import json
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import get_args, get_origin

from qsync.checksum import crc32
from qsync.errors import ConfigError
from qsync.store.private import FILE_OF_ALL, FILE_OF_OWNER, replace_with

FORMAT = 1
"""Raised when a reader of the former format would misunderstand."""
MANIFEST = "manifest.json"
UNFINISHED = f".{MANIFEST}.new"
"""A manifest that is being written."""
PART_ENTRIES = 65_536
"""Part `k` of every log holds the entries `k * PART_ENTRIES + 1 .. (k + 1) * PART_ENTRIES`."""
ANEW = "of a dump, delete it and run `qsync dump` into this folder again"
"""The hint for a damaged file."""
AGAIN = f"{ANEW}; if it was changed on purpose, remove its entry from `checksums` in {MANIFEST}"
"""The hint for a changed file."""
REDACTED = "redacted"
"""Stands for texts that were left out; as the command, for a bundle that anybody may read."""
_SUMS, _CRC = "checksums", "crc"


class NoEvidence(ConfigError):
    """The folder is not a bundle of evidence, or one that this version cannot read."""

    code = "NO_EVIDENCE"
    number = 95


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts:
    """One node. `generation` counts the directories it has had; `uuid` names the present one.

    `confirmed`: its confirmed index, noted before any log of the bundle was read. `first`, `last`:
    what the bundle holds of its log. `problem`: why there is no more. `recorded`: the log is as its
    node left it when it stopped, and all that was done to it is in the events.
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
    recorded: bool = False

    @property
    def whose(self) -> tuple[int, int]:
        """Node and generation, by which its log and its rows are found."""
        return (self.node, self.generation)


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """`source`: who wrote it (`nodes`, `directories`, `simulator`, `history`, `drill`, `demo`).

    `cluster` is its name, `cluster_id` its id, which a recovery or a restore replaces, and
    `cluster_generation` how often that was done, by its terms: 0 of a cluster that was founded.
    `whole`: the cluster had come to rest, so nodes must be equal. `clock`: what `time_mono` is:
    `one` clock for all rows, or every node's `own`. `faults` says whether any were meant to be.
    `gaps`: of tables that are not whole, why. `left_out`: what `events` tell nothing of, though
    they are whole. `checksums`: of its files, see there.
    """

    run_id: str
    source: str
    format: int = FORMAT
    cluster: str = ""
    cluster_id: str = ""
    cluster_generation: int = 0
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
    left_out: str = ""
    checksums: dict[str, dict[str, int]] = field(default_factory=dict)

    def save(self, folder: Path) -> None:
        """Replace the manifest of a folder in one step, with a checksum of its own.

        As private as the rows are: it names addresses, commands and what the cluster has.
        """
        members = json.loads(json.dumps(asdict(self)))
        sums = {MANIFEST: {_CRC: _crc(members)}, **members[_SUMS]}
        fresh = folder / UNFINISHED
        text = json.dumps(members | {_SUMS: sums}, indent=2)
        fresh.unlink(missing_ok=True)  # a kill has left it
        mode = FILE_OF_ALL if self.command == REDACTED else FILE_OF_OWNER
        replace_with(fresh, folder / MANIFEST, f"{text}\n".encode(), mode=mode)

    @classmethod
    def load(cls, folder: Path) -> "Manifest":
        """Read it. Raises NoEvidence; unknown members are ignored."""
        path = folder / MANIFEST
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(found, dict):
                raise NoEvidence(f"{path} is no manifest: it holds no JSON object")
            if found.get("format") != FORMAT:
                raise _other_format(path, found.get("format"))
            nodes = found.get("nodes", [])
            if not isinstance(nodes, list):
                raise NoEvidence(f"{path} cannot be read: nodes is no array")
            known = [NodeFacts(**_members(NodeFacts, each)) for each in nodes]  # type: ignore[arg-type]  # they are checked there
            manifest = cls(**_members(cls, found | {"nodes": tuple(known)}))  # type: ignore[arg-type]  # the same
        except FileNotFoundError:
            raise NoEvidence(f"{folder} is no bundle of evidence: it has no {MANIFEST}") from None
        except (OSError, ValueError, TypeError) as error:
            raise NoEvidence(f"{path} cannot be read: {error}") from error
        sums = dict(manifest.checksums)
        wanted = sums.pop(MANIFEST, None)
        if wanted is not None and wanted.get(_CRC) != _crc(found):
            problem = f"its checksum is {_crc(found)} and not {wanted.get(_CRC)}"
            raise NoEvidence(f"{path} is damaged: {problem}", hint=AGAIN)
        return replace(manifest, checksums=sums)


def _crc(members: Mapping[str, object]) -> int:
    """Return the checksum of everything but the checksums; removing its entry allows edits."""
    said = {name: each for name, each in members.items() if name != _SUMS}
    return crc32(json.dumps(said, sort_keys=True).encode())


def _members(cls: "type[Manifest | NodeFacts]", found: object) -> dict[str, object]:
    """Return the members that the class has, each of its type. Raises ValueError.

    Executors of Spark read manifests, and have no package that could do it.
    """
    if not isinstance(found, Mapping):
        raise ValueError(f"{found!r} is no object")  # noqa: TRY004 - of what was read
    kept = {}
    for each in fields(cls):
        if each.name in found:
            kept[each.name] = found[each.name]
            if not _is(found[each.name], each.type):
                wanted = getattr(each.type, "__name__", each.type)
                raise ValueError(f"{each.name} is {wanted} and not {found[each.name]!r}")
        elif each.default is MISSING and each.default_factory is MISSING:
            raise ValueError(f"the required member {each.name} is missing")
    return kept


def _is(value: object, wanted: object) -> bool:
    """Return whether a value is of a type as used above."""
    if get_origin(wanted) is tuple:
        return isinstance(value, tuple)
    if get_origin(wanted) is dict:
        return isinstance(value, dict) and all(_is(e, get_args(wanted)[1]) for e in value.values())
    kinds = get_args(wanted) or (wanted,)
    return object in kinds or type(value) in kinds


def _other_format(path: Path, found: object) -> NoEvidence:
    newer = isinstance(found, int) and found > FORMAT
    named = "no format" if found is None else f"format {found}"
    hint = "a newer qsync wrote it: update this one" if newer else ""
    return NoEvidence(f"{path} has {named}, known is {FORMAT}", hint=hint)
