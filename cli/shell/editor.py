"""The user's editor, for a chunk of several lines."""

import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from qsync.errors import ConfigError

EDITORS: Final = ("sensible-editor", "nano", "vi", "vim", "emacs")
"""The first installed one is used if neither VISUAL nor EDITOR is set."""


def edited(text: str) -> str:
    """The edited text; waits for the editor to end. Raises ConfigError."""
    command = editor()
    with tempfile.TemporaryDirectory(prefix="qsync-") as folder:
        path = Path(folder) / "chunk.lua"
        path.write_text(f"{text}\n" if text else "", "utf-8")
        try:
            done = subprocess.run([*command, str(path)], check=False)  # noqa: S603 - the user's own
        except OSError as error:
            raise ConfigError(
                f"the editor {command[0]} cannot be started: {error.strerror}",
                hint="set EDITOR to one that is there",
            ) from None
        if done.returncode:
            raise ConfigError(
                f"the editor {command[0]} ended with {done.returncode}",
                hint="its text was not used",
            )
        return path.read_text("utf-8", errors="replace").strip("\n")


def editor() -> list[str]:
    """Command and arguments of the user's editor. Raises ConfigError when there is none."""
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if named:
        try:
            return shlex.split(named)
        except ValueError as error:
            raise ConfigError(f"EDITOR is {named!r}: {error}") from None
    found = next((each for each in EDITORS if shutil.which(each)), None)
    if found is None:
        raise ConfigError("no editor was found", hint="set EDITOR to the command of yours")
    return [found]
