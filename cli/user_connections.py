"""Connections of the commands about users and roles, and their look-ups."""

from collections.abc import Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cli.agreeing import check_agreed
from cli.render.rights import names_nothing, words_if_alone
from qsync.errors import AccessDenied
from qsync.rights import Need, Privilege

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qsync.client.blocking import Client


@contextmanager
def connected(target: Sequence[str], timeout: float) -> "Iterator[Client]":
    """A connection to the cluster, until the block ends."""
    from qsync.client.blocking import connect  # noqa: PLC0415 - slow to import

    with connect(list(target), timeout=timeout, connect_timeout=timeout) as db:
        yield db


@contextmanager
def changing(target: Sequence[str], timeout: float) -> "Iterator[Client]":
    """As `connected`, for changes. Raises AccessDenied if the user lacks the right `super`.

    Without this check the command would ask for a password first, or name another right.
    """
    with connected(target, timeout) as db:
        own = db.users.info()
        match own:
            case {"users": True, "rights": {"universe": held}} if Privilege.SUPER not in held:
                need = Need(Privilege.SUPER)
                raise AccessDenied(f"user {own.get('name')!r} lacks the right {need}")
        yield db


def check_last(db: "Client", alone: str, what: str, *, yes: bool) -> None:
    """Ask before the last user that may do everything is lost. `alone`: what is said of that."""
    if alone and not words_if_alone(db.users.list()):
        check_agreed(f"{what}{alone}. Go on?", yes=yes, why=alone)


def note_on(db: "Client", space: str) -> str | None:
    """A note about a grant on a name that no space or sequence has yet."""
    sequences = (str(row[2]) for row in db.space("_sequence").select())
    return names_nothing(space, [*db.schema.spaces(), *sequences])


def known_of(db: "Client", kind: str) -> dict[str, object]:
    """The users, or the roles."""
    return {
        name: one
        for name, one in db.users.list().items()
        if isinstance(one, dict) and one.get("kind") == kind
    }
