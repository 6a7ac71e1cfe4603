"""Runs the command of a hook: without a shell, for a limited time; its output is kept."""

import os
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from qsync.errors import QsyncError

OUTPUT_BYTES_MAX: Final = 2048
"""So much of the end of what a command says is kept."""


class HookFailed(QsyncError):
    """The command of a hook could not be run, ended with another code than 0, or took too long."""

    code = "HOOK_FAILED"
    number = 94
    hint = "run the command by hand: the report has it as it was run, with what it said"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRun:
    """A command that was run. `begun`: monotonic seconds; `code` None: it was ended, or not begun.

    `output`: the end of what it said on both of its outputs.
    """

    action: str
    command: str
    begun: float
    seconds: float
    code: int | None
    output: str
    error: str | None = None


def run_command(action: str, arguments: Sequence[str], *, timeout: float, folder: Path) -> HookRun:
    """Run it in a folder, until it has ended or its time is over; it never raises OSError.

    What it left behind in the background goes on: a hook that starts a node may do that.
    """
    begun = time.monotonic()
    code: int | None = None
    error: str | None = None
    with tempfile.TemporaryFile() as said:  # a pipe would last as long as what it left behind
        try:
            process = subprocess.Popen(  # noqa: S603 - the operator's own command
                list(arguments),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                cwd=folder,
                start_new_session=True,
            )
        except OSError as failed:
            error = f"cannot be run: {failed.strerror}"
        else:
            code, error = _ended(process, timeout)
        output = _end_of(said)
    return HookRun(
        action=action,
        command=shlex.join(arguments),
        begun=begun,
        seconds=time.monotonic() - begun,
        code=code,
        output=output,
        error=error,
    )


def failure(run: HookRun) -> HookFailed:
    """Return the error that reports a run that failed."""
    lines = run.output.strip().splitlines()
    said = f": {lines[-1]}" if lines else ""
    return HookFailed(f"the hook of {run.action} {run.error}{said} ({run.command})")


def _ended(process: subprocess.Popen[bytes], timeout: float) -> tuple[int | None, str | None]:
    try:
        code = process.wait(timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # not reaped yet, so the group is still its own
        process.wait()
        return None, f"was ended after {timeout:g} s"
    return code, None if code == 0 else f"ended with {code}"


def _end_of(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - OUTPUT_BYTES_MAX))
    return file.read().decode(errors="replace")
