"""What notices each broken rule: measures it and writes docs/reference/mutants.md (`make mutants`).

python -m tests.bench.mutants                 # what the page lacks
python -m tests.bench.mutants votes_twice     # these again
python -m tests.bench.mutants all             # everything: an hour
"""

import gc
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from admin.soak.judge import judge
from qsync.sim.explore.scopes import CORE_SETS, SCOPES
from qsync.sim.explore.search import StateSearch
from qsync.sim.mutants.catalogue import CATALOGUE
from qsync.sim.mutants.generations import IN_A_LIFE
from qsync.sim.mutants.mutant import Mutant
from qsync.sim.mutants.rules import RULES, UNBROKEN, by_rule
from qsync.sim.plan import Plan
from tests.bench.unfailed import WHY
from tests.scenarios.test_scenarios import HERE as SCENARIOS
from tests.scenarios.test_scenarios import perform

PAGE = Path(__file__).parents[2] / "docs/reference/mutants.md"
SEEDS = 10
"""So many are tried."""
STATES_MAX = 300_000
SECONDS_MAX = 2.0
"""Of one transcript: a broken rule may make two nodes answer each other for ever."""
NONE = "-"
LIFE = "[a long life](../../tests/seeds/test_long_lives.py)"
_ROWS, _HARMLESS, _UNFAILED = "<!-- rows -->", "<!-- harmless -->", "<!-- unfailed -->"
_ABOUT_RULES = """
## By rule

| rule | what it is about | mutants, or why there is none |
|---|---|---|
""".splitlines()

_ABOUT_HARMLESS = """
## Rules that no property depends on

These rules save time, help people, or are a second defence. No property breaks without them, so
seeds and scopes cannot notice that they are gone.
""".splitlines()
_ABOUT_UNFAILED = """
## Transcripts that no mutant fails

They show what people see (answers, reasons, numbers, refusals, limits), or that a rule is not too
strict. No mutant above changes that. What each of them covers:
""".splitlines()


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What notices a mutant. `seed`: the first; 0 for none. `transcripts`: how many fail."""

    seed: int = 0
    scope: str = ""
    transcripts: int = 0
    transcript: str = ""
    """The one of them that the fewest mutants make fail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The page. `unfailed`: transcripts that no mutant makes fail."""

    rows: Mapping[str, Row]
    unfailed: tuple[str, ...]


# -- the page


def read() -> Table:
    """As it is written now."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rows: dict[str, Row] = {}
    for line in lines[lines.index(_ROWS) + 3 : lines.index(_HARMLESS)]:
        cells = [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        if len(cells) > 1:
            name, _, _, seed, scope, transcripts = cells
            rows[name] = Row(
                seed=0 if seed == NONE else int(seed),
                scope=_first(scope),
                transcripts=0 if transcripts == NONE else int(transcripts.split()[0]),
                transcript=_linked(transcripts),
            )
    unfailed = [_linked(line) for line in lines[lines.index(_UNFAILED) :] if line.startswith("* ")]
    return Table(rows=rows, unfailed=tuple(unfailed))


def render(table: Table) -> str:
    """The page with that table: what is before it stays."""
    text = PAGE.read_text(encoding="utf-8")
    out = [text[: text.index(_ROWS)] + _ROWS]
    out.append("| mutant | without the rule | rule | first seed | scope | transcripts that fail |")
    out.append("|---|---|---|---|---|---|")
    for name, row in table.rows.items():
        mutant = CATALOGUE[name]
        scope = ", ".join(_noticing(name, row)) or NONE
        failing = f"{row.transcripts} {_link(row.transcript)}" if row.transcripts else NONE
        out.append(
            f"| `{name}` | {mutant.without} | {mutant.rule} | {row.seed or NONE} | {scope} "
            f"| {failing} |"
        )
    out += ["", _HARMLESS, *_ABOUT_HARMLESS, "", "| mutant | why no property breaks |", "|---|---|"]
    for name in table.rows:
        if CATALOGUE[name].harmless:
            out.append(f"| `{name}` | {CATALOGUE[name].harmless} |")
    out += _ABOUT_RULES
    named = by_rule({name: mutant.rule for name, mutant in CATALOGUE.items()})
    for rule, about in RULES.items():
        broken = ", ".join(f"`{name}`" for name in named[rule])
        out.append(f"| {rule} | {about} | {broken or UNBROKEN[rule]} |")
    out += ["", _UNFAILED, *_ABOUT_UNFAILED]
    out += ["", *[f"* {_link(each)}: {WHY.get(each, NONE)}" for each in table.unfailed]]
    return "\n".join(out) + "\n"


def _noticing(name: str, row: Row) -> Iterator[str]:
    """Name the scope, and a long life, if one notices it."""
    if row.scope:
        yield f"`{row.scope}`"
    if name in IN_A_LIFE:
        yield LIFE


def _first(noticing: str) -> str:
    """Return the scope of such a cell, or nothing."""
    scope = noticing.removesuffix(LIFE).strip("`, ")
    return "" if scope == NONE else scope


def _link(stem: str) -> str:
    return f"[{stem.replace('_', ' ')}](../../tests/scenarios/{stem}.txt)"


def _linked(text: str) -> str:
    return text.partition("/scenarios/")[2].partition(".txt")[0] if "/scenarios/" in text else ""


# -- measuring


def texts() -> dict[str, str]:
    """All transcripts, by name."""
    return {each.stem: each.read_text(encoding="utf-8") for each in sorted(SCENARIOS.glob("*.txt"))}


def fails(text: str, mutant: Mutant) -> bool:
    """The transcript is another one with that rule broken."""
    signal.signal(signal.SIGVTALRM, _over)
    gc.disable()  # an error that the alarm raises within a callback of the collector is ignored
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS_MAX)
    try:
        return perform(text, mutant.remodel) != text
    except Exception:  # noqa: BLE001 - an error is noticed, too
        return True
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        gc.enable()


def failing(mutant: Mutant, known: Mapping[str, str]) -> list[str]:
    """The transcripts that notice; what is around a replica they do not know."""
    if mutant.remodel is None:
        return []
    return [name for name, text in known.items() if fails(text, mutant)]


def noticed_by_seed(mutant: str, seed: int) -> bool:
    """A property breaks in that run, or what clients saw was wrong."""
    return judge(Plan(seed=seed, mutant=mutant)).finding is not None


def first_seed(mutant: str) -> int:
    """The first that notices; 0 for none."""
    return next((seed for seed in range(1, SEEDS + 1) if noticed_by_seed(mutant, seed)), 0)


def noticed_by_scope(mutant: str, scope: str) -> bool:
    """A property breaks, or what the scope is about does not happen any more."""
    explored = StateSearch(SCOPES[scope], mutant).run(states_max=STATES_MAX)
    if explored.broken is not None:
        return True
    return explored.exhausted and not SCOPES[scope].reaches <= set(explored.happened)


def first_scope(mutant: str, *, wanted: bool) -> str:
    """One that promises to notice it; else, when it is `wanted`, any quick one that does."""
    promised = [name for name, scope in SCOPES.items() if mutant in scope.kills]
    others = [] if promised or not wanted else CORE_SETS["quick"]
    return next((each for each in (*promised, *others) if noticed_by_scope(mutant, each)), "")


def measure(name: str, known: Mapping[str, str]) -> tuple[Row, list[str]]:
    """Measure again: the tools that detect it, and all transcripts that fail."""
    mutant = CATALOGUE[name]
    recovers = mutant.generations is not None  # no short run makes a cluster of another one
    seed = 0 if recovers else first_seed(name)
    scope = first_scope(name, wanted=seed == 0 and not mutant.harmless and not recovers)
    stems = failing(mutant, known)
    print(f"{name}: seed {seed}, scope {scope or NONE}, {len(stems)} transcripts", flush=True)
    return Row(seed=seed, scope=scope, transcripts=len(stems)), stems


def chosen(row: Row, stems: Sequence[str], often: Mapping[str, int]) -> Row:
    """With the transcript that speaks of this rule most clearly."""
    best = min(stems, key=lambda stem: (often[stem], stem), default="")
    return replace(row, transcript=best)


def _over(_number: int, _frame: object) -> None:
    raise TimeoutError


def main(words: list[str]) -> None:
    """Measure, and write the page: after each of some; when all are measured, if it is all."""
    table, known = read(), texts()
    missing = [name for name in CATALOGUE if name not in table.rows]
    everything = words == ["all"]
    names = list(CATALOGUE) if everything else words or missing
    # Of some only, what no other mutant fails is what the page says of that.
    often = {stem: int(not everything and stem not in table.unfailed) for stem in known}
    rows = {name: table.rows.get(name, Row()) for name in CATALOGUE}
    found = dict[str, list[str]]()
    for name in names:
        rows[name], found[name] = measure(name, known)
        for stem in found[name]:
            often[stem] += 1
        for done, stems in found.items():
            rows[done] = chosen(rows[done], stems, often)
        if not everything or len(found) == len(names):
            unfailed = tuple(stem for stem in known if not often[stem])
            PAGE.write_text(render(Table(rows=rows, unfailed=unfailed)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
