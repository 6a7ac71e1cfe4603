"""Runs the command of a hook: without a shell, with a time limit; its output is recorded."""

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
"""How much of the end of a command's output is kept."""


class HookFailed(QsyncError):
    """The command of a hook could not be run, ended with another code than 0, or took too long."""

    code = "HOOK_FAILED"
    number = 94
    hint = "run the command by hand: the report has the command and its output"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRun:
    """A run of a command. `begun`: monotonic seconds; `code` None: killed, or not started.

    `output`: the end of its stdout and stderr.
    """

    action: str
    command: str
    begun: float
    seconds: float
    code: int | None
    output: str
    error: str | None = None


def run_command(action: str, arguments: Sequence[str], *, timeout: float, folder: Path) -> HookRun:
    """Run it in a folder, until it ends or its time is over; never raises OSError.

    Its background processes go on: a hook that starts a node may leave one.
    """
    begun = time.monotonic()
    code: int | None = None
    error: str | None = None
    with (
        tempfile.TemporaryFile() as said
    ):  # a pipe would stay open as long as its background processes
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
        os.killpg(
            process.pid, signal.SIGKILL
        )  # not reaped yet, so the process group still belongs to it
        process.wait()
        return None, f"was ended after {timeout:g} s"
    return code, None if code == 0 else f"ended with {code}"


def _end_of(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - OUTPUT_BYTES_MAX))
    return file.read().decode(errors="replace")
