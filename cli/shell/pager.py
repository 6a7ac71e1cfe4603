"""The user's pager, for output longer than the screen."""

import os
import shlex
import shutil
import subprocess

from qsync.errors import ConfigError


def pager() -> list[str]:
    """Command and arguments; empty: no pager exists or is wanted. Raises ConfigError."""
    named = os.environ.get("PAGER")
    if named is not None:
        try:
            return shlex.split(named)
        except ValueError as error:
            raise ConfigError(f"PAGER is {named!r}: {error}") from None
    return ["less", "-FRSX"] if shutil.which("less") else []


def paged(command: list[str], lines: list[str]) -> None:
    """Show the lines in the user's pager; wait for it to end. Raises ConfigError."""
    text = "".join(f"{line}\n" for line in lines)
    try:
        subprocess.run(command, input=text, text=True, check=False)  # noqa: S603 - the user's own
    except OSError as error:
        raise ConfigError(
            f"the pager {command[0]} cannot be started: {error.strerror}",
            hint="\\set pager off, or another PAGER",
        ) from None
