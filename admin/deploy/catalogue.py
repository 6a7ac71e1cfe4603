"""The files that run nodes and complete commands: what each is, where it goes, its text."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

_COMMAND: Final = "@QSYNC@"
"""Stands for the command of this installation."""
_HOMES: Final = (Path("/home"), Path("/root"), Path("/run/user"))
"""What `ProtectHome=yes` of the unit hides from a node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentFile:
    """One of them. `goes`: the path at which its reader looks for it."""

    file: str
    about: str
    goes: str

    def text(self) -> str:
        """Its content, with the path of this installation's command if needed."""
        text = files("admin.deploy").joinpath("files", self.file).read_text("utf-8")
        return text.replace(_COMMAND, str(Path(sys.executable).with_name("qsync")))


def hidden_from_units(paths: Iterable[str] | None = None) -> Path | None:
    """Return the first path, of this installation if none are given, that the unit hides."""
    for each in (sys.prefix, sys.base_prefix) if paths is None else paths:
        found = Path(each).resolve()
        if any(found.is_relative_to(home) for home in _HOMES):
            return found
    return None


FILES: Final = {
    "systemd": DeploymentFile(
        file="qsync@.service",
        about="A unit for nodes: readiness, watchdog, hand-over when stopped, hardening.",
        goes="/etc/systemd/system/qsync@.service",
    ),
    "container": DeploymentFile(
        file="Containerfile",
        about="An image, built in a checkout by podman or docker.",
        goes="Containerfile",
    ),
    "compose": DeploymentFile(
        file="compose.yaml",
        about="Three nodes with TLS, each in a container.",
        goes="compose.yaml",
    ),
    "kubernetes": DeploymentFile(
        file="kubernetes.yaml",
        about="Three nodes with TLS as a StatefulSet, with probes.",
        goes="kubernetes.yaml",
    ),
    "bash": DeploymentFile(
        file="qsync.bash",
        about="Completion in bash: commands, options, drills, guides.",
        goes="~/.local/share/bash-completion/completions/qsync",
    ),
    "zsh": DeploymentFile(
        file="qsync.zsh",
        about="The same in zsh.",
        goes="/usr/local/share/zsh/site-functions/_qsync",
    ),
    "fish": DeploymentFile(
        file="qsync.fish",
        about="The same in fish.",
        goes="~/.config/fish/completions/qsync.fish",
    ),
}
"""By what `qsync deploy` calls them."""
