"""Next steps for the directories of a new cluster: printed, and kept in a README next to them."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from qsync.config import Address

README = "qsync-README.txt"


class PlacedMember(Protocol):
    """A member that is laid out."""

    @property
    def address(self) -> str:
        """Its address."""

    @property
    def dir(self) -> Path:
        """Its directory."""


def starting(members: Sequence[PlacedMember]) -> Iterator[str]:
    """Which directory goes to which host, and what is run there."""
    if all(Address(each.address).loopback for each in members):
        yield "start them here, each in a terminal of its own (as a service: qsync help run-nodes)"
        for each in members:
            yield f"  {start_command(each.dir)}"
        return
    yield "copy each directory to its host, and start it there (as a service: qsync help run-nodes)"
    for each in members:
        host = each.address.rpartition(":")[0]
        yield f"  {each.dir.name} to {host}: {start_command(each.dir.name)}"


def start_command(directory: Path | str) -> str:
    """The command that runs a node, as a shell takes it."""
    return f"qsync start {shlex.quote(str(directory))}"


def alone(
    directory: Path, address: object, *, has_secret: bool, authority: Path | None = None
) -> Iterator[str]:
    """What is run for a node that is its whole cluster, and for others that join it.

    `authority`: the directory of the one that certifies them; None without TLS.
    """
    yield f"run it with: {start_command(directory)}"
    secret = shlex.quote(f"cluster.secret_file={directory}/secret")
    known = f" --set {secret}" if has_secret else ""
    if authority is not None:
        known += f" --secure --ca-dir {shlex.quote(str(authority))}"
    join = shlex.quote(str(address))  # brackets are a pattern to a shell
    yield f"others join it: qsync init DIR --join {join} --listen HOST:PORT{known}"


def watching(directory: Path, address: str) -> Iterator[str]:
    """The location of the certificates, and how they are used."""
    certs = directory / "certs"
    files = f"ca={certs}/ca.crt&certificate={certs}/root.crt&key={certs}/root.key"
    target = shlex.quote(f"qsyncs://{address}/?{files}")
    yield f"keep {certs} private: it has the authority, and your certificate as root; with it, run:"
    yield f"  qsync status {target}"


def sharing(where: str) -> str:
    """The purpose of the secret of a cluster without TLS. `where`: its file."""
    return f"members know each other by {where}: keep it private; a node that joins needs it"


IN_EACH = "the file `secret` in each directory"


def readme(
    directory: Path,
    cluster: str,
    members: Sequence[PlacedMember],
    *,
    secure: bool,
    has_secret: bool,
) -> str:
    """The file that stays when the terminal is gone. It contains no secret."""
    lines = [
        f"The cluster {cluster}, made by `qsync init --cluster`.",
        "",
        *starting(members),
        "",
        *(watching(directory, members[0].address) if secure else ()),
        *([sharing(IN_EACH)] if has_secret else []),
        *([""] if secure or has_secret else []),
        "Each directory is one member. It runs in one place only: never start a copy of it.",
        "A member that lost its directory is replaced by an empty one: qsync help grow-and-move",
    ]
    return "\n".join(lines) + "\n"
