"""The load from which a C compiler learns what runs often: nodes, clients and the simulator.

The sources are compiled with counters, three nodes of that take every kind of request, and the
counts are the files that gcc wants when it compiles for good (`-fprofile-use`).
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import c_compiler

COUNTING = ("-fprofile-generate", "-fprofile-update=prefer-atomic")
LEARNING = ("-fprofile-use", "-fprofile-correction", "-fprofile-partial-training")
PACKAGES = ("election", "qsync", "admin", "cli")
"""What a command needs beside the compiled modules."""
LABS: Mapping[str, Sequence[str]] = {"plain": (), "secure": ("--secure",)}
OPTIONS = ("node.events=false", "election.timeout=5s", "replication.timeout=1s")
"""As real nodes have them: those of a lab are quicker to elect, and write down what checks want."""
LOADS = (
    ("put", 1, 1),
    ("put", 64, 1),
    ("put", 1, 256),
    ("get", 64, 1),
    ("get", 1, 256),
    ("txn10", 16, 1),
    ("ycsb-e", 16, 1),
)
"""Workload, clients, outstanding requests of each."""
SECONDS = 2
SEEDS = "1-6"
"""Of the simulator, whose own modules are compiled, too."""
STEP_TIMEOUT_S = 300.0


def count(
    made: Any, root: Path, folder: Path, load: Callable[[Path, Path], None]
) -> dict[Path, Path]:
    """The counts for each C source that the load ran, in files below `folder`.

    `load` has the tree that counts, and a home folder for its processes.

    Raises NotTrainedError where the compiler does not count, or the load fails.
    """
    if len(c_compiler.accepted((*COUNTING, *LEARNING))) < len(COUNTING) + len(LEARNING):
        raise c_compiler.NotTrainedError("only gcc, from 10 on, learns from a load")
    tree, objects = folder / "tree", folder / "objects"
    objects.mkdir(parents=True)
    for name in PACKAGES:
        without = shutil.ignore_patterns("*.so", "__pycache__")
        shutil.copytree(root / name, tree / name, ignore=without)
    # An object writes its counts beside itself, when its process ends.
    at = {path: objects / f"{number}.o" for number, path in enumerate(made.sources)}
    flags = [*made.flags, *COUNTING]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda path: c_compiler.compile_one(path, flags, at[path]), at))
    c_compiler.link_all(made.extensions, at, tree, COUNTING)
    load(tree, folder / "home")
    counts = {path: made_at.with_suffix(".gcda") for path, made_at in at.items()}
    return {path: file for path, file in counts.items() if file.exists()}


def compile_by(counts: Path, path: Path, flags: Sequence[str]) -> Path:
    """An object file of that source, where the one was that counted: there gcc finds the counts."""
    made = counts.with_suffix(".o")
    c_compiler.compile_one(path, [*flags, *LEARNING], made)
    return made


def run_load(tree: Path, home: Path) -> None:
    """Every kind of request to three nodes, without TLS and with it; and the simulator.

    Raises NotTrainedError when a command fails.
    """
    home.mkdir()
    environment = {
        **os.environ,
        "HOME": str(home),
        "XDG_STATE_HOME": str(home / "state"),
        "PYTHONPATH": os.pathsep.join([str(tree), *filter(None, sys.path)]),
        "PYTHONSAFEPATH": "1",
    }

    def qsync(*words: object) -> None:
        command = [sys.executable, "-m", "qsync", *map(str, words)]
        done = subprocess.run(
            command,
            env=environment,
            cwd=home,
            capture_output=True,
            text=True,
            timeout=STEP_TIMEOUT_S,
            check=False,
        )
        if done.returncode:
            said = (done.stderr or done.stdout).strip()
            raise c_compiler.NotTrainedError(f"qsync {' '.join(command[3:])}: {said}")

    settings = [word for option in OPTIONS for word in ("--set", option)]
    for lab, options in LABS.items():
        qsync("lab", "up", "--name", lab, *options, *settings)
        try:
            for workload, clients, pipeline in LOADS:
                shape = ("--workload", workload, "--clients", clients, "--pipeline", pipeline)
                qsync("bench", "--target", lab, *shape, "--seconds", SECONDS, "--plain")
        finally:
            qsync("lab", "down", "--name", lab)
    qsync("sim", "--seeds", SEEDS, "--plain")
