"""A corpus of seeds that reached rare states, so that a soak is not guided by chance alone.

Of everything that was run, the few are kept that together reach most, what is rare first. What a
seed reaches changes with the code, so those of the file are run again before others.
"""

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

from admin.soak import files
from admin.soak.coverage import reached
from admin.soak.judge import JudgedSeed, look
from qsync.errors import ConfigError
from qsync.sim.plan import Plan
from qsync.sim.run import run

SCHEMA = "qsync/corpus/1"
SEEDS_MAX = 16
"""How many seeds are kept."""
RARE = 0.02
"""The share of runs up to which a state is rare."""


def judge(plan: Plan) -> JudgedSeed:
    """Run a plan, check everything, and note the states that it reached."""
    done = run(plan)
    return replace(look(done), reached=reached(done))


@dataclass(slots=True)
class Corpus:
    """`path`: the file. `options`: what is said beside the seeds; a file is about one way to run.

    `kept`: what each seed of the file reached. Raises ConfigError for a file of another way.
    """

    path: Path
    options: str
    kept: dict[int, frozenset[str]] = field(default_factory=dict)
    _times: Counter[str] = field(default_factory=Counter)
    _runs: int = 0

    def load(self) -> list[int]:
        """Return the seeds of the file, if it exists. Raises ConfigError."""
        if not self.path.exists():
            return []
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
            is_ours = (found["schema"], found["options"]) == (SCHEMA, self.options)
            seeds = [int(seed) for seed in found["seeds"]] if is_ours else None
        except (ValueError, KeyError, TypeError):
            seeds = None
        if seeds is None:
            raise ConfigError(
                f"{self.path} is no corpus of runs with the options {self.options!r}",
                hint="give another file",
            )
        return seeds

    def check_place(self) -> None:
        """Raises OSError if seeds could not be saved."""
        files.check_place(self.path)

    def add(self, judged: JudgedSeed) -> None:
        """Add a finished run. It is a candidate if it reached rare states."""
        self._runs += 1
        self._times.update(judged.reached)
        new = {each for each in judged.reached if self._times[each] <= max(1, self._runs * RARE)}
        if new:
            self.kept[judged.report.seed] = judged.reached

    @property
    def states(self) -> int:
        """Return the number of combinations that any run reached."""
        return len(self._times)

    def chosen(self) -> dict[int, list[str]]:
        """Return the seeds to keep, each with rare states that the ones before did not reach."""
        limit = max(1, self._runs * RARE)
        rare = {each for each, times in self._times.items() if times <= limit}
        left, found = dict(self.kept), dict[int, list[str]]()
        while left and rare and len(found) < SEEDS_MAX:
            seed = max(left, key=lambda one: (self._worth(left[one] & rare), -one))
            new = left.pop(seed) & rare
            if not new:
                break
            rare -= new
            found[seed] = sorted(new)
        return found

    def save(self) -> None:
        """Save the chosen seeds to the file."""
        seeds = {str(seed): new for seed, new in self.chosen().items()}
        known = {"schema": SCHEMA, "options": self.options, "runs": self._runs}
        text = json.dumps(known | {"states": self.states, "seeds": seeds}, indent=1)
        files.replace_text(self.path, text + "\n")

    def _worth(self, states: frozenset[str] | set[str]) -> float:
        return sum(1 / self._times[each] for each in states)
