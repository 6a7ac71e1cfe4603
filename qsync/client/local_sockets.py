"""Sockets in the directory of a node: its owner connects there, as `admin`.

A target `unix:PATH` names the socket, or the directory that it is in. The kernel tells the node who
has come, so no password and no TLS are wanted. QSYNC_SOCKETS says of addresses that they are
dialled so as well (`HOST:PORT=PATH,...`): it is how a command, and what it starts, reaches the node
whose socket was its target.
"""

import os
import socket
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from qsync.errors import ConfigError
from qsync.socket_files import FILE, named

SCHEME: Final = "unix:"
VARIABLE: Final = "QSYNC_SOCKETS"


def normal(target: str) -> str:
    """Return `unix:` and the absolute path of a socket. Raises ConfigError without a path."""
    text = target.strip().removeprefix(SCHEME)
    if not text:
        raise ConfigError(
            f"{target!r} names no socket", hint=f"write {SCHEME}DIRECTORY/{FILE}, or the directory"
        )
    path = os.path.abspath(os.path.expanduser(text))  # noqa: PTH100, PTH111 - kept as it is written
    is_directory = os.path.isdir(path)  # noqa: PTH112 - false for what no path can be, too
    return SCHEME + (str(Path(path, FILE)) if is_directory else path)


def path_of(address: str) -> str | None:
    """Return the socket by which that address is dialled; None: over the network."""
    if address.startswith(SCHEME):
        return normal(address).removeprefix(SCHEME)
    return _named(os.environ).get(address) if VARIABLE in os.environ else None


def reach(address: str, path: str) -> None:
    """Let this process, and those that it starts, dial the address by that socket."""
    known = _named(os.environ) | {address: path}
    os.environ[VARIABLE] = ",".join(f"{each}={where}" for each, where in known.items())


def check(path: str) -> None:
    """Check that the socket is ours, or that we are root and a node has it there.

    Raises ConfigError with the reason.
    """
    folder = os.path.dirname(path)  # noqa: PTH120 - a text, as the path is
    try:
        found, around = os.stat(path), os.stat(folder)  # noqa: PTH116 - all of it is wanted
    except FileNotFoundError:
        raise ConfigError(
            f"{path} is not there: no node runs in that directory",
            hint=f"a node that runs has {FILE} in its directory (`node.dir`)",
        ) from None
    except (OSError, ValueError) as error:  # a zero byte in it is a ValueError
        why = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"{path!r:.80} cannot be looked at: {why}") from None
    if not stat.S_ISSOCK(found.st_mode):
        raise ConfigError(f"{path} is no socket", hint=f"a node's is called {FILE}")
    if os.geteuid() not in {0, found.st_uid}:
        raise ConfigError(
            f"{path} belongs to the user with the id {found.st_uid}: only that user and root come"
            " in by it",
            hint="log in over the network, with QSYNC_USER and QSYNC_PASSWORD",
        )
    if not is_trusted(found, around):
        raise ConfigError(
            f"{path} belongs to the user with the id {found.st_uid}, and everybody may put files"
            f" into {folder}: it may be no node's",
            hint="take everybody's rights to the directory away, or name another target",
        )


def is_trusted(found: os.stat_result, around: os.stat_result) -> bool:
    """Return whether root may take a socket for a node's, by its state and its directory's.

    In a directory for everybody, such as `/tmp`, anybody may have put one that hears what is said.
    """
    for_everybody = bool(around.st_mode & stat.S_IWOTH)
    return not for_everybody or found.st_uid in {0, os.geteuid()}


def connected(path: str, timeout: float) -> socket.socket:
    """Return a connection by that socket. Raises ConfigError and OSError."""
    check(path)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.settimeout(timeout)
    try:
        with named(path) as short:
            made.connect(short)
    except OSError:
        made.close()
        raise
    return made


def _named(environment: Mapping[str, str]) -> dict[str, str]:
    pairs = [each.partition("=") for each in environment.get(VARIABLE, "").split(",")]
    return {address: path for address, _, path in pairs if path}
