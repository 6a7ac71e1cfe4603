"""The secret of a cluster that is laid out: made, or taken from where it is named.

It is put into a file of its own in the directory of each node: it goes where the directory goes,
and does not stand in the configuration, which people show each other.
"""

from collections.abc import Mapping
from pathlib import Path

from qsync.config import NodeConfig, secret
from qsync.config.secret import Secret
from qsync.errors import ConfigError
from qsync.store.private import write_private
from qsync.wire import proofs
from qsync.wire.session import Greeting

_TEXT, _FILE = "cluster.secret", "cluster.secret_file"
_CERTIFICATE = "tls.certificate"
"""Where this is set a node speaks TLS."""


def founding(options: Mapping[str, str]) -> tuple[dict[str, str], Secret]:
    """The options of a new cluster's nodes, and its secret: a fresh one unless one is named.

    With TLS members show certificates, and there is a secret only if one is named. Raises
    ConfigError.
    """
    left, found = taken(options)
    if found or left.get(_CERTIFICATE):
        return left, found
    return {**left, _FILE: secret.FILE}, secret.fresh()


def taken(options: Mapping[str, str]) -> tuple[dict[str, str], Secret]:
    """The options of a node, with the file in its directory instead of the secret that they name.

    And that secret, if they name one. Raises ConfigError.
    """
    said = {key: text for key, text in options.items() if key in {_TEXT, _FILE}}
    left = {key: text for key, text in options.items() if key not in said}
    found = NodeConfig.load(None, {}, said).secret
    return ({**left, _FILE: secret.FILE} if found else left), found


def check_joining(options: Mapping[str, str], member: Greeting) -> None:
    """Does a node with these options know a secret if, and only if, a member does, as it greets?

    Raises ConfigError.
    """
    _, found = taken(options)
    if found and proofs.FEATURE not in member.features:
        raise ConfigError(
            f"{member.name} has no cluster secret, so a node with one could not join it",
            hint=f"leave {_TEXT} and {_FILE} out",
        )
    if not found and proofs.FEATURE in member.features:
        raise ConfigError(
            f"{member.name} has a cluster secret, and a node without it could not join",
            hint=f"--set {_FILE}=FILE, where FILE is the file `{secret.FILE}` of the directory of "
            f"{member.name} or a copy of it",
        )


def put(directory: Path, kept: Secret) -> None:
    """Write it into the directory of a node, if there is one. Raises OSError."""
    if kept:
        write_private(directory / secret.FILE, f"{kept.text}\n".encode())


def shared(directory: Path, options: Mapping[str, str]) -> dict[str, str]:
    """Put one file with a secret there for all nodes of a new cluster; return their options.

    Raises ConfigError, OSError.
    """
    given, found = founding(options)
    put(directory, found)
    return {**given, _FILE: str(directory / secret.FILE)} if found else given
