"""The user that a client logs in as: from a URL, the environment, a file, or the caller.

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

from qsync.client.arguments import text_of
from qsync.client.security import PASSWORD, PASSWORD_FILE, USER
from qsync.errors import ConfigError
from qsync.wire import scram
from qsync.wire.scram import ClientKeys, PasswordKeys

ACTING = "QSYNC_ACTING"
_KEYS_KEPT: Final = 64
_FILE_BYTES_MAX: Final = 4096


@dataclass(frozen=True, slots=True)
class Credentials:
    """A user with its password."""

    user: str
    password: str = field(repr=False)

    def derive(self, salt: bytes, iterations: int) -> ClientKeys:
        """Return the keys of the password's proof. Raises ProtocolError for bad parameters."""
        return _derived(self.password, salt, iterations)


_derived = lru_cache(_KEYS_KEPT)(ClientKeys)
"""Made once in a process: it takes as long as a hundred requests."""


def new_password(password: str) -> PasswordKeys:
    """Return what a cluster keeps of a new password. Raises ConfigError if it is too short."""
    return scram.kept(text_of("password", password), os.urandom(scram.SALT_BYTES))


def new_key() -> bytes:
    """Return the key that salts of unknown users will be derived from."""
    return os.urandom(32)


def of(user: str | None, password: str | None) -> Credentials | None:
    """Return the credentials; what is missing comes from the environment. None: no login.

    Raises ConfigError for a user without a password.
    """
    return _found(user, password, os.environ)


def of_environment() -> Credentials | None:
    """Return the credentials in the environment. Raises ConfigError without a password."""
    return _found(None, None, os.environ)


def assume(user: str) -> None:
    """Give these credentials to this process and those that it starts."""
    os.environ[USER] = user


def acting() -> str:
    """Return the user to act as after the login; empty: as the one who logged in."""
    return os.environ.get(ACTING, "")


def act_as(user: str) -> None:
    """Let this process, and those that it starts, act as that user from the next connection on."""
    os.environ[ACTING] = user


def is_user(user: str) -> bool:
    """Return whether the environment names that user."""
    return os.environ.get(USER) == user


def is_password_there() -> bool:
    """Return whether the environment has a password, or names a file with one."""
    return bool(os.environ.get(PASSWORD) or os.environ.get(PASSWORD_FILE))


def remember(password: str) -> None:
    """Keep a password that was typed, for this process and those that it starts."""
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
        why = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"{PASSWORD_FILE} = {path}: cannot be read: {why}") from None
