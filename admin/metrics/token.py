"""The token that readers of metrics and health URLs show: `Authorization: Bearer TOKEN`.

A browser, which asks its user for a name and a password, shows it as the password of any name.
"""

import hmac
from base64 import b64decode
from hashlib import sha256
from pathlib import Path

from qsync.config import secret
from qsync.errors import ConfigError

_BEARER, _BASIC = "bearer", "basic"


class BearerToken:
    """In a file, which is read again when it is another one. Raises ConfigError for a wrong one.

    A file that cannot be used later leaves the former token in use.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._state = self._look()
        try:
            self._digest = _digest(secret.read(path).text)
        except ValueError as error:
            raise ConfigError(f"metrics.token_file = {path}: {error}") from None

    def is_shown(self, headers: list[tuple[bytes, bytes]]) -> bool:
        """Return whether the token is in the headers. Takes the same time for any token."""
        self._read_again()
        given = next((value for name, value in headers if name == b"authorization"), b"")
        scheme, _, token = given.decode("ascii", "replace").partition(" ")
        if scheme.lower() == _BASIC:
            token = _password(token)
        right = hmac.compare_digest(_digest(token.strip()), self._digest)
        return right and scheme.lower() in {_BEARER, _BASIC}

    def _read_again(self) -> None:
        state = self._look()
        if state is None or state == self._state:
            return
        try:
            self._digest = _digest(secret.read(self._path).text)
        except ValueError:
            return  # half written, or gone: the next request looks again
        self._state = state

    def _look(self) -> tuple[int, int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns


def _password(shown: str) -> str:
    """The part after the colon; empty if it cannot be read."""
    try:
        return b64decode(shown.strip(), validate=True).decode().partition(":")[2]
    except ValueError:  # what is not ASCII, not base64, or not UTF-8
        return ""


def _digest(token: str) -> bytes:
    return sha256(token.encode()).digest()
