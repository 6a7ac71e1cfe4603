"""Where is the cluster? Addresses, a URL, a lab's name or a context from the user's file.

The owner of a node's directory may name it, or the socket in it, and needs no password.
"""

import sys
from pathlib import Path

import click

from admin.lab import lab, secure
from admin.lab import names as lab_names
from qsync.client import local_sockets, login, security, tls_files
from qsync.client.targets import SeedAddresses, parse
from qsync.default_port import DEFAULT_ADDRESS, DEFAULT_PORT
from qsync.errors import ConfigError
from qsync.socket_files import FILE

CONTEXTS_FILE = "contexts.yaml"
_FILES = (
    "QSYNC_CA, QSYNC_CERTIFICATE and QSYNC_KEY name the files, or ca=, certificate= and key= of "
    "a qsyncs:// target"
)


def default() -> str:
    """The node whose directory this is, else the lab called `lab`, else the usual port."""
    if Path(FILE).is_socket():
        return local_sockets.SCHEME + FILE
    return lab_names.DEFAULT_NAME if lab_names.exists(lab_names.place()) else DEFAULT_ADDRESS


def resolve(text: str) -> list[str]:
    """The addresses meant by `text`. Raises ValueError saying what would be understood."""
    if ":" in text or "," in text:
        try:
            found = parse(text)
        except ConfigError as error:
            hint = f" ({error.hint})" if error.hint else ""
            raise ValueError(error.message + hint) from None
        if found.password is not None:
            raise ValueError(
                f"no password in a target: others can read it; set {security.PASSWORD} or "
                f"{security.PASSWORD_FILE}"
            )
        security.assume(found.tls)
        _check_files(found)
        if found.user is not None:
            _be(found.user)
        return [_reached(each) for each in found.addresses]
    if Path(text).is_dir() and lab_names.exists(Path(text)):
        return list(load_lab(Path(text).absolute()).addresses)
    if text in lab_names.known():
        return list(load_lab(lab_names.place(text)).addresses)
    if Path(text, FILE).is_socket():
        return [_reached(local_sockets.normal(text))]
    known = _contexts()
    if text in known:
        return resolve(known[text]) if known[text] != text else [text]
    raise ValueError(f"{text!r} is {_no_target(text)}; {_there_is(known)}")


def _check_files(found: SeedAddresses) -> None:
    """Say of files of ours that cannot be used how they are named. Raises ConfigError."""
    try:
        tls_files.check(found)
    except ConfigError as error:
        error.hint = error.hint or _FILES
        raise


def _no_target(text: str) -> str:
    """Why a text is no target, in the words that fit what it looks like."""
    if Path(text).is_dir():
        return "a directory, and neither a lab's nor that of a node that runs"
    if Path(text).exists():
        return "a file, and no directory of a lab or of a node that runs"
    if "/" in text:
        return "not there: it looks like a directory, of a lab or of a node that runs"
    alone = f" (with its port: {text}:{DEFAULT_PORT})" if "." in text else ""
    return f"not an address (host:port), lab or context{alone}"


def load_lab(directory: Path) -> lab.Lab:
    """The lab laid out there; from here on this process speaks to nodes as that lab wants it."""
    found = lab.load(directory)
    security.assume(secure.client_tls(directory))
    return found


def _reached(address: str) -> str:
    """Where the node behind a socket is for others; from here on it is dialled by the socket."""
    if not address.startswith(local_sockets.SCHEME):
        return address
    from admin.cluster import ask  # noqa: PLC0415 - most targets are not asked anything here

    return ask.by_network(address)


def _be(user: str) -> None:
    """Log in as that user from now on; ask for the password if it is not in the environment."""
    login.assume(user)
    if not login.is_password_there() and sys.stdin.isatty():
        login.remember(click.prompt(f"Password of {user}", hide_input=True, err=True))


def _there_is(contexts: dict[str, str]) -> str:
    """Suggestions for an unknown target."""
    labs = ", ".join(sorted(lab_names.known()))
    known = f"known labs: {labs}" if labs else "`qsync lab up` makes a lab"
    named = f"; known contexts: {', '.join(sorted(contexts))}" if contexts else ""
    return f"an address is host:port, or unix:DIRECTORY of a node here; {known}{named}"


def single(addresses: list[str]) -> str | None:
    """The one address, if the user meant one node and not a cluster."""
    return addresses[0] if len(addresses) == 1 else None


def contexts_path() -> Path:
    """The user's file of contexts: `name: target`, one a line."""
    return Path(click.get_app_dir("qsync")) / CONTEXTS_FILE


def _contexts() -> dict[str, str]:
    path = contexts_path()
    if not path.is_file():
        return {}
    from qsync.config import yaml_file  # noqa: PLC0415 - slow to import, only for a user's contexts

    problems = yaml_file.YamlProblems(str(path))
    root = yaml_file.compose(yaml_file.read_text(path), problems, may_be_empty=True)
    found = {} if root is None else {name.key: value.text() for name, value in root.members()}
    if problems.found:
        raise yaml_file.refusal(problems.found)
    return {name: target for name, target in found.items() if target is not None}
