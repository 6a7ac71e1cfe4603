"""As whom a client logs in: from a URL, the environment, a file, or whoever called us.

QSYNC_USER names the user; the password is in QSYNC_PASSWORD, or in the file that
QSYNC_PASSWORD_FILE names. It is on no command line, where every user of the machine could read it.
Who may do everything is judged as the user that QSYNC_ACTING names, if it is set.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final

from qsync.client.security import PASSWORD, PASSWORD_FILE, USER
from qsync.errors import ConfigError
from qsync.wire import scram
from qsync.wire.scram import ClientKeys, PasswordKeys

ACTING = "QSYNC_ACTING"
_KEYS_KEPT: Final = 64
_FILE_BYTES_MAX: Final = 4096


@dataclass(frozen=True, slots=True)
class Credentials:
    """A user and his password."""

    user: str
    password: str = field(repr=False)

    def derive(self, salt: bytes, iterations: int) -> ClientKeys:
        """What the password is proven by. Raises ProtocolError for what no honest node asks."""
        return _derived(self.password, salt, iterations)


_derived = lru_cache(_KEYS_KEPT)(ClientKeys)
"""Made once in a process: it takes as long as a hundred requests."""


def new_password(password: str) -> PasswordKeys:
    """What a cluster is to keep of a new password. Raises AccessDenied if it is too short."""
    return scram.kept(password, os.urandom(scram.SALT_BYTES))


def new_key() -> bytes:
    """What salts of unknown users will be derived from."""
    return os.urandom(32)


def of(user: str | None, password: str | None) -> Credentials | None:
    """Who is meant; what is missing comes from the environment. None: nobody logs in.

    Raises ConfigError for a user without a password.
    """
    return _found(user, password, os.environ)


def of_environment() -> Credentials | None:
    """Who the environment says we are. Raises ConfigError for a user without a password."""
    return _found(None, None, os.environ)


def assume(user: str) -> None:
    """From here on this process, and those that it starts, are that user's."""
    os.environ[USER] = user


def acting() -> str:
    """As whom we are to be judged once we are in; empty: as who we are."""
    return os.environ.get(ACTING, "")


def act_as(user: str) -> None:
    """From the next connection on this process, and those that it starts, are judged so."""
    os.environ[ACTING] = user


def is_user(user: str) -> bool:
    """Does the environment say that we are that one?"""
    return os.environ.get(USER) == user


def is_password_there() -> bool:
    """Does the environment have one, or name a file of it?"""
    return bool(os.environ.get(PASSWORD) or os.environ.get(PASSWORD_FILE))


def remember(password: str) -> None:
    """The password of this process and those that it starts; of one that somebody typed."""
    os.environ[PASSWORD] = password


def _found(
    user: str | None, password: str | None, environment: Mapping[str, str]
) -> Credentials | None:
    name = user or environment.get(USER)
    if not name:
        return None
    if password is None and user in {None, environment.get(USER, user)}:
        password = environment.get(PASSWORD) or _from_file(environment.get(PASSWORD_FILE))
    if password is None:
        raise ConfigError(
            f"user {name!r} has no password here",
            hint=f"set {PASSWORD}, or {PASSWORD_FILE} to the path of a file that holds it",
        )
    return Credentials(name, password)


def _from_file(path: str | None) -> str | None:
    if not path:
        return None
    try:
        with Path(path).open("rb") as file:
            return file.read(_FILE_BYTES_MAX).decode().strip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{PASSWORD_FILE} = {path}: cannot be read: {error}") from None
