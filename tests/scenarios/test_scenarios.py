"""Transcripts: commands and the output of the nodes. `--rewrite` records them again."""

from pathlib import Path

import pytest

from qsync.sim.mutants.mutant import Remodel
from tests.scenarios.stage import Stage

HERE = Path(__file__).parent
RULE = "----"


def perform(text: str, remodel: Remodel | None = None) -> str:
    """Run a transcript; the same transcript with what the nodes say now (or changed ones)."""
    stage, out = Stage(), []
    stage.remodel = remodel
    for block in text.strip().split("\n\n"):
        head, _, _ = block.partition(f"\n{RULE}")
        said: list[str] = []
        for line in head.splitlines():
            if line and not line.startswith("#"):
                said += stage.run(line)
        out.append("\n".join([head, RULE, *said]) if _commands(head) else head)
    return "\n\n".join(out) + "\n"


def _commands(head: str) -> bool:
    return any(line and not line.startswith("#") for line in head.splitlines())


@pytest.mark.parametrize("path", sorted(HERE.glob("*.txt")), ids=lambda path: path.stem)
def test_scenario(path: Path, *, rewrite: bool) -> None:
    text = path.read_text(encoding="utf-8")
    performed = perform(text)
    if rewrite:
        path.write_text(performed, encoding="utf-8")
    else:
        assert performed == text
