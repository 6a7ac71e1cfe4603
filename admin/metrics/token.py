"""The token that readers of metrics and health URLs show: `Authorization: Bearer TOKEN`."""

import hmac
from hashlib import sha256
from pathlib import Path
from typing import Final

from qsync.config import secret
from qsync.errors import ConfigError

_SCHEME: Final = "bearer"


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
        """Is it among the headers of a request? Takes as long whatever is shown."""
        self._read_again()
        given = next((value for name, value in headers if name == b"authorization"), b"")
        scheme, _, token = given.decode("ascii", "replace").partition(" ")
        right = hmac.compare_digest(_digest(token.strip()), self._digest)
        return right and scheme.lower() == _SCHEME

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


def _digest(token: str) -> bytes:
    return sha256(token.encode()).digest()
