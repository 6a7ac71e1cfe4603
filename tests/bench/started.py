"""A lab of three nodes that a measurement starts, as an operator does, and stops."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from admin.lab import lab as labs

PROGRAM = (sys.executable, "-m", "qsync")


@contextlib.contextmanager
def started_lab(folder: Path, options: Sequence[str] = ()) -> Iterator[labs.Lab]:
    """Start one in `folder`, without a proxy. `options`: each SECTION.OPTION=VALUE."""
    place = ("--dir", str(folder / "lab"))
    given = [word for each in options for word in ("--set", each)]
    up = (*PROGRAM, "lab", "up", "--direct", *place, *given)
    try:
        subprocess.run(up, check=True, stdout=sys.stderr)  # when it fails, some nodes may run
        yield labs.load(folder / "lab")
    finally:
        subprocess.run((*PROGRAM, "lab", "down", *place), check=True, stdout=sys.stderr)
