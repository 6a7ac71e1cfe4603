"""Reads the key of a sealed place from a file or the environment, never a command line."""

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
    """Write a file with a new key, which only its owner can read. Raises ConfigError."""
    _write_new(
        path, secrets.token_urlsafe(_MADE_BYTES), "what was sealed with it would not open any more"
    )


def make_sealing_key(secret: str, path: Path) -> None:
    """Write a file with a key that seals for the owner of `secret`, and does not open.

    Raises ConfigError, BackupKeyRefused for a secret that is guessed soon.
    """
    from admin.backup.key_pairs import OpeningKey, SealingKey  # noqa: PLC0415 - only here

    if SealingKey.parse(secret) is not None:
        raise ConfigError(
            "this is a sealing key already: another one is made from the key it is of"
        )
    made = OpeningKey.fresh(secret).sealing
    _write_new(path, made.text, "places that were begun with it would take no more backups")


def of_environment() -> str | None:
    """Return the key in the environment, or in the file that it names. Raises ConfigError."""
    found = os.environ.get(KEY)
    if found:
        return found
    path = os.environ.get(KEY_FILE)
    return key_in(Path(path)) if path else None


def key_in(path: Path) -> str:
    """Return the key in a file. Raises ConfigError."""
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


def _write_new(path: Path, text: str, lost: str) -> None:
    """Write a new file. `lost`: what would be lost if an existing file were overwritten."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(f"{text}\n")
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        raise ConfigError(f"{path} is there already: {lost}") from None
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
