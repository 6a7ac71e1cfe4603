"""`python -m tests.model`: searches the model, scope by scope, and tells what it found."""

import argparse
import sys

from tests.model.scopes import MUTANTS, NOTICED, SCOPES, Scope
from tests.model.search import Searched


def main(arguments: list[str] | None = None) -> int:
    """0: all scopes hold, and all broken rules are noticed."""
    parser = argparse.ArgumentParser(prog="python -m tests.model", description=__doc__)
    parser.add_argument("scopes", nargs="*", metavar="SCOPE", help="of these; all unless given")
    parser.add_argument("--quick", action="store_true", help="those of `make test-all`")
    parser.add_argument("--mutant", choices=[*MUTANTS, "all"], help="a rule that is not kept")
    asked = parser.parse_args(arguments)
    unknown = [name for name in asked.scopes if name not in SCOPES]
    if unknown:
        parser.error(f"no scope {', '.join(unknown)}; there are {', '.join(SCOPES)}")
    if asked.mutant:
        return _mutants([*MUTANTS] if asked.mutant == "all" else [asked.mutant])
    chosen = [SCOPES[name] for name in asked.scopes] or list(SCOPES.values())
    return _scopes([each for each in chosen if each.quick or not asked.quick])


def _scopes(scopes: list[Scope]) -> int:
    print("| scope | states | steps | depth | CPU s | |\n|---|---|---|---|---|---|")
    bad = 0
    for scope in scopes:
        found = scope.search()
        lacks = scope.reaches - found.reached
        verdict = found.broken or (f"never: {', '.join(sorted(lacks))}" if lacks else "holds")
        bad += verdict != "holds"
        print(f"| `{scope.name}` | {_figures(found)} | {verdict} |", flush=True)
        _tell(found)
    return 6 if bad else 0


def _mutants(names: list[str]) -> int:
    print("| rule not kept | scope | states | steps | depth | CPU s | |")
    print("|---|---|---|---|---|---|---|")
    bad = 0
    for name in names:
        scope = NOTICED[name]
        found = scope.search(name)
        bad += not found.broken
        said = found.broken.partition(":")[0] or "NOT NOTICED"
        print(f"| `{name}` | `{scope.name}` | {_figures(found)} | {said} |", flush=True)
        if len(names) == 1:
            _tell(found)
    return 6 if bad else 0


def _figures(found: Searched) -> str:
    return f"{found.states:,} | {found.steps:,} | {found.depth} | {found.seconds:.1f}"


def _tell(found: Searched) -> None:
    for number, what in enumerate(found.way, 1):
        print(f"  {number:2} {what}")


if __name__ == "__main__":
    sys.exit(main())
