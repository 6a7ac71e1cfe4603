"""The results of seeds, kept in a file so that a soak can be interrupted and resumed.

A result is about one version of the code and one way to run it: after a change of either, seeds
are run again, and the older results stay in the file as history.
"""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from admin.soak import files, ranges
from admin.soak.judge import JudgedSeed, SeedConclusion
from qsync.errors import ConfigError
from qsync.sim.plan import Plan

SCHEMA = "qsync/soak/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedSetup:
    """How seeds are run: the version of the code, and the other options."""

    code: str
    how: str

    @classmethod
    def of(cls, code: str, plan: Plan, *, evidence: bool = False) -> "SeedSetup":
        """Return the setup of a plan; any seed will do. `evidence`: it is checked, too."""
        how = [plan.options(), "--evidence" if evidence else ""]
        return cls(code=code, how=" ".join(filter(None, how)))


@dataclass(slots=True, kw_only=True)
class SeedRegister:
    """Seeds by their result. `broken`: the violation of each failing seed."""

    way: SeedSetup
    held: set[int] = field(default_factory=set)
    inconclusive: set[int] = field(default_factory=set)
    undecided: set[int] = field(default_factory=set)
    broken: dict[int, str] = field(default_factory=dict)
    events: int = 0
    facts: int = 0
    seconds: float = 0.0

    def add(self, judged: JudgedSeed) -> None:
        """Add the result of a run."""
        report = judged.report
        self.events += report.events
        self.facts += judged.facts
        self.seconds += report.seconds
        self.broken.pop(report.seed, None)
        match judged.conclusion:
            case SeedConclusion.HELD:
                self.held.add(report.seed)
            case SeedConclusion.INCONCLUSIVE:
                self.inconclusive.add(report.seed)
            case SeedConclusion.BROKEN:
                assert judged.finding is not None
                self.broken[report.seed] = judged.finding.text
        if judged.undecided:
            self.undecided.add(report.seed)

    def known(self, seed: int) -> bool:
        """Return whether a seed can be skipped. Failing seeds are run again, to be shrunk."""
        return seed in self.held or seed in self.inconclusive

    @property
    def runs(self) -> int:
        """Return the number of seeds."""
        return len(self.held) + len(self.inconclusive) + len(self.broken)

    def as_json(self) -> dict[str, object]:
        """Return the members of the file."""
        return {
            **asdict(self.way),
            "held": ranges.show(self.held),
            "inconclusive": ranges.show(self.inconclusive),
            "undecided": ranges.show(self.undecided),
            "broken": {str(seed): text for seed, text in sorted(self.broken.items())},
            "events": self.events,
            "facts": self.facts,
            "seconds": round(self.seconds, 1),
        }


class RegisterFile:
    """The file: the ledger that is written now, and older ones."""

    def __init__(self, path: Path | None, way: SeedSetup) -> None:
        self.path = path
        self.others: list[SeedRegister] = []
        self.ledger = SeedRegister(way=way)
        for each in [] if path is None or not path.exists() else _load(path):
            if each.way == way:
                self.ledger = each
            else:
                self.others.append(each)

    def check_place(self) -> None:
        """Raises OSError if results could not be saved."""
        if self.path is not None:
            files.check_place(self.path)

    def save(self) -> None:
        """Replace the file atomically."""
        if self.path is None:
            return
        document = {
            "schema": SCHEMA,
            "ledgers": [each.as_json() for each in (*self.others, self.ledger)],
        }
        files.replace_text(self.path, json.dumps(document, indent=1) + "\n")


def _load(path: Path) -> list[SeedRegister]:
    try:
        return _ledgers(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"{path} is no file of a soak: {error}", hint="name another file, or remove it"
        ) from error


def _ledgers(document: dict[str, object]) -> list[SeedRegister]:
    if document["schema"] != SCHEMA:
        raise ValueError(f"its schema is {document['schema']!r}, not {SCHEMA!r}")
    ledgers = document["ledgers"]
    if not isinstance(ledgers, list):
        raise TypeError(f"ledgers is {ledgers!r}, no list")
    return [_ledger(members) for members in ledgers]


def _ledger(members: dict[str, object]) -> SeedRegister:
    def seeds(name: str) -> set[int]:
        return {seed for each in ranges.parse(str(members[name])) for seed in each}

    def number(name: str) -> float:
        found = members[name]
        if not isinstance(found, int | float):
            raise TypeError(f"{name} is {found!r}, no number")
        return found

    broken = members["broken"]
    if not isinstance(broken, dict):
        raise TypeError(f"broken is {broken!r}, no map")
    return SeedRegister(
        way=SeedSetup(code=str(members["code"]), how=str(members["how"])),
        held=seeds("held"),
        inconclusive=seeds("inconclusive"),
        undecided=seeds("undecided"),
        broken={int(seed): str(text) for seed, text in broken.items()},
        events=int(number("events")),
        facts=int(number("facts")),
        seconds=number("seconds"),
    )
