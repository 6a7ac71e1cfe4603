"""Commands as a user types them, run in this process: what a test of their words needs.

A process of its own costs half a second of processor time, nearly all of it for imports. Tests of
the process itself (signals, pipes, terminals, how it starts) start one.
"""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from cli import main


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended, and what it printed."""

    code: int
    stdout: str
    stderr: str


def run(*args: str | Path, stdin: str = "") -> Done:
    """Run `qsync ARGS`, with a pipe at each end."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.StringIO(stdin))
        code = main.run(list(map(str, args)))
    return Done(int(code), out.getvalue(), err.getvalue())
