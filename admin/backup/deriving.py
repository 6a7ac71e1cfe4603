"""Derives keys from secrets, with a cost for each guess (scrypt, RFC 7914)."""

from typing import Final

from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from admin.backup.failures import BackupKeyRefused

SECRET_CHARS_MIN: Final = 12
"""The minimum length of a new secret: an attacker with a copy can guess without a limit."""
_COST: Final = 1 << 15
_BLOCK: Final = 8
_PARALLEL: Final = 3
"""32 MiB and about a quarter of a second for each guess. Never read from a file, whose
writer could ask for all memory."""


def derived(secret: str, salt: bytes, size: int) -> bytes:
    """Return this many bytes, the same for the same secret and salt."""
    kdf = Scrypt(salt=salt, length=size, n=_COST, r=_BLOCK, p=_PARALLEL)
    return kdf.derive(secret.encode())


def check_length(secret: str, what: str) -> None:
    """Check a secret that seals `what`. Raises BackupKeyRefused if it is easy to guess."""
    if len(secret) < SECRET_CHARS_MIN:
        raise BackupKeyRefused(
            f"the key for {what} has {len(secret)} characters, and "
            f"{SECRET_CHARS_MIN} are the least",
            hint="`qsync backup key FILE` makes a random one",
        )
