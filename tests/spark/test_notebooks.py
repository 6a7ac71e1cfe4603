"""The notebooks of the examples: run as they stand, and what they keep is what they give."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nbclient", reason="runs notebooks")
pytest.importorskip("ipykernel", reason="runs notebooks")

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
RUNNER = ROOT / "tests" / "notebooks.py"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def outputs(text: str) -> list[list[dict[str, Any]]]:
    """By cell what it gave, without the count of cells that a kernel keeps."""
    found = []
    for cell in json.loads(text)["cells"]:
        given = cell.get("outputs", [])
        found.append([{k: v for k, v in each.items() if k != "execution_count"} for each in given])
    return found


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_gives_what_it_keeps(path: Path, tmp_path: Path) -> None:
    """Run by a kernel of its own, in an empty folder."""
    fresh = tmp_path / path.name
    done = subprocess.run(
        [sys.executable, RUNNER, path, fresh],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert outputs(fresh.read_text("utf-8")) == outputs(path.read_text("utf-8")), (
        f"`python tests/notebooks.py {path.relative_to(ROOT)}` runs it anew"
    )
    assert not re.search(r'"output_type": "error"', path.read_text("utf-8"))


def test_there_is_a_notebook() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["evidence"]
