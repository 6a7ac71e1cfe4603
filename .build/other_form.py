"""Runs scenarios, unit tests of the hot packages, and a few more on the form this checkout lacks.

In a tree of its own, `build/other-form`, so that nothing beside the sources changes. What is
compiled for it is not optimized: it is quicker made, and does the same.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # `make` runs Python without the script's folder
import c_compiler
import compiling

ROOT = compiling.ROOT
TREE = ROOT / "build" / "other-form"
CONTENTS = ("election", "qsync", "admin", "cli", "tests", "docs", "pyproject.toml", "README.md")
HOT = re.compile(r"^from (election|qsync\.(core|data|wire))\b", re.MULTILINE)
ABOVE = re.compile(
    r"^(import trio|from (admin|cli|qsync\.(sim|node|store|client)))\b", re.MULTILINE
)
FURTHER = (
    "tests/unit/test_log_contract.py",
    "tests/unit/test_segments.py",
    "tests/seeds/test_long_lives.py::test_what_clients_of_the_old_cluster_repeat_stays_unknown",
)
"""What else has failed in the compiled form only: files that stay open, and patched methods."""
SEEDS = ("1-4", "2000037094-2000037094")
"""The last one has a process that dies while it says goodbye."""
FORM = "from qsync.form import form; print(form())"


def copied() -> None:
    """The sources, without what was compiled from them."""
    shutil.rmtree(TREE, ignore_errors=True)
    TREE.mkdir(parents=True)
    without = shutil.ignore_patterns("*.so", "__pycache__", "spark")
    for name in CONTENTS:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, TREE / name, ignore=without)
        else:
            shutil.copy2(ROOT / name, TREE / name)


def ring() -> list[str]:
    """Scenarios, the unit tests that need nothing above the hot packages, and a few others."""
    texts = {path: path.read_text() for path in sorted((TREE / "tests" / "unit").glob("test_*.py"))}
    chosen = [path for path, text in texts.items() if HOT.search(text) and not ABOVE.search(text)]
    return ["tests/scenarios", *(path.relative_to(TREE).as_posix() for path in chosen), *FURTHER]


def main() -> int:
    """The exit code of the tests; 0 when there is no C compiler to make the other form with."""
    began = time.monotonic()
    wanted = "pure" if any((ROOT / "qsync").glob(f"form*{EXTENSION_SUFFIXES[0]}")) else "compiled"
    copied()
    if wanted == "compiled":
        try:
            compiling.compile_into(TREE, root=TREE, level="0", work=ROOT / "build" / "other-mypyc")
        except c_compiler.NoCompilerError as none:
            print(f"skipped: {none} to make the compiled form with")
            return 0
    env = {**os.environ, "PYTHONPATH": str(TREE)}
    form = subprocess.run(
        [sys.executable, "-c", FORM], cwd=TREE, env=env, capture_output=True, text=True, check=True
    ).stdout.strip()
    assert form == wanted, f"{form} runs instead of {wanted}"
    print(f"{wanted} after {time.monotonic() - began:.0f} s", flush=True)
    tests = [sys.executable, "-m", "pytest", *ring(), "-q", "-n", "auto", "-m", "not slow"]
    done = subprocess.run(tests, cwd=TREE, env=env, check=False).returncode
    for seeds in SEEDS:
        words = [sys.executable, "-m", "qsync", "sim", "--seeds", seeds, "--plain"]
        done = done or subprocess.run(words, cwd=TREE, env=env, check=False).returncode
    print(f"scenarios, the core and five seeds, {wanted}: {time.monotonic() - began:.0f} s")
    return done


if __name__ == "__main__":
    sys.exit(main())
