"""Where the key of a sealed place comes from: a file or the environment, never a command line."""

import os
import secrets
from pathlib import Path
from typing import Final

from qsync.errors import ConfigError

KEY: Final = "QSYNC_BACKUP_KEY"
KEY_FILE: Final = "QSYNC_BACKUP_KEY_FILE"
_MADE_BYTES: Final = 32
_FILE_BYTES_MAX: Final = 4096


def make_key(path: Path) -> None:
    """A file with a new key, which its owner alone can read. Raises ConfigError."""
    text = f"{secrets.token_urlsafe(_MADE_BYTES)}\n"
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        raise ConfigError(
            f"{path} is there already: what was sealed with it would not open any more"
        ) from None
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None


def of_environment() -> str | None:
    """What the environment says, or the file that it names. Raises ConfigError."""
    found = os.environ.get(KEY)
    if found:
        return found
    path = os.environ.get(KEY_FILE)
    return key_in(Path(path)) if path else None


def key_in(path: Path) -> str:
    """The key in a file. Raises ConfigError."""
    try:
        with path.open("rb") as file:
            content = file.read(_FILE_BYTES_MAX + 1)
        found = content.decode().strip("\r\n")
    except OSError as error:
        raise ConfigError(f"{path}: the key cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} holds no key: it is no text") from None
    if not found or len(content) > _FILE_BYTES_MAX:
        what = "is empty" if not found else f"has more than {_FILE_BYTES_MAX} bytes"
        raise ConfigError(f"{path} holds no key: it {what}")
    return found
