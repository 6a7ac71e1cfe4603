"""Backups that nobody reads or changes without their key: every file of a place, but one, sealed.

A file is encrypted and authenticated (AES-256-GCM) under a key of its own, which is derived
(HKDF-SHA256) from the key of the place, a salt in the file, and the file's name. So a part that was
changed, cut off, put in the place of another one or taken from another place does not open, and
nor does a manifest; the manifests in turn hold the SHA-256 of every part. The key of a place is
derived (scrypt, RFC 7914) from what its owner knows and a salt of the place.

`qsync-backup.json` stays readable: it says that the place is sealed, and which cluster's it is,
bound to each other by a seal of their own.
"""

import secrets
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from admin.backup import names
from admin.backup.failures import BackupDamaged, BackupKeyRefused
from admin.backup.places import BackupPlace
from qsync.errors import WrongFormat

SCHEME: Final = 1
"""The one that is described above; another number is another one."""
SECRET_CHARS_MIN: Final = 12
"""Of what a new place is sealed with: whoever copies the place can guess at leisure."""
_MAGIC: Final = b"QSYNCSEAL1"
_SALT_BYTES: Final = 32
_TAG_BYTES: Final = 16
_NONCE: Final = bytes(12)
"""The same for all: no key is used twice."""
_SCRYPT_COST: Final = 1 << 15
_SCRYPT_BLOCK: Final = 8
_SCRYPT_PARALLEL: Final = 3
"""32 MiB and about a quarter of a second for each guess. Never read from a file: whoever wrote
that could ask for all memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceSeal:
    """What a place says of its seal. `check`: opens with the right key, and with no other."""

    scheme: int
    salt: str
    check: str


class SealedPlace:
    """A place as who knows its secret sees it: files in the clear, by the same names.

    Nothing but the manifest of the place can be read or written before `begin_seal` or `unlock`.
    """

    def __init__(self, place: BackupPlace, secret: str) -> None:
        self.url = place.url
        self._place = place
        self._secret = secret
        self._key = b""

    def begin_seal(self, cluster: str) -> PlaceSeal:
        """Make up a key for a place where nothing is yet. Raises BackupKeyRefused."""
        if len(self._secret) < SECRET_CHARS_MIN:
            raise BackupKeyRefused(
                f"the key for {self.url} has {len(self._secret)} characters, and "
                f"{SECRET_CHARS_MIN} are the least",
                hint="`qsync backup key FILE` makes one that nobody guesses",
            )
        salt = secrets.token_bytes(_SALT_BYTES)
        self._key = _place_key(self._secret, salt)
        check = _sealed(self._key, _check_name(cluster), b"")
        return PlaceSeal(scheme=SCHEME, salt=salt.hex(), check=check.hex())

    def unlock(self, seal: PlaceSeal, cluster: str) -> None:
        """Take the key of a place. Raises BackupKeyRefused where it is another, WrongFormat."""
        if seal.scheme != SCHEME:
            raise WrongFormat(
                f"{self.url} is sealed by scheme {seal.scheme}, this release knows {SCHEME}",
                hint="use the release that wrote it, or a newer one",
            )
        try:
            key = _place_key(self._secret, bytes.fromhex(seal.salt))
            _opened(key, _check_name(cluster), bytes.fromhex(seal.check))
        except (ValueError, TypeError, BackupDamaged):
            raise BackupKeyRefused(
                f"{self.url} does not open with this key",
                hint=f"it is another key, or somebody has changed {names.PLACE} there",
            ) from None
        self._key = key

    def names(self, folder: str) -> list[str]:
        """Files in it."""
        return self._place.names(folder)

    def folders(self, folder: str) -> list[str]:
        """Folders in it."""
        return self._place.folders(folder)

    def read(self, name: str) -> bytes:
        """All of a file. Raises BackupDamaged where it is not as it was sealed."""
        content = self._place.read(name)
        return content if name == names.PLACE else _opened(self._key, name, content)

    def write(self, name: str, content: bytes) -> None:
        """Sealed, whole or not at all."""
        clear = name == names.PLACE
        self._place.write(name, content if clear else _sealed(self._key, name, content))

    def remove(self, name: str) -> None:
        """Let go of it, if it is there."""
        self._place.remove(name)

    def remove_folder(self, folder: str) -> None:
        """With its files."""
        self._place.remove_folder(folder)


def check_sealed(place: BackupPlace, seal: PlaceSeal | None, cluster: str) -> None:
    """A place is what its user takes it for, and opens. Raises BackupKeyRefused, WrongFormat.

    Who brings a key does not take what anybody could have written, nor writes in the clear.
    """
    if isinstance(place, SealedPlace):
        if seal is None:
            raise BackupKeyRefused(
                f"{place.url} is not sealed, and a key was given",
                hint="leave the key out if that is right; seal another place, where nothing is yet",
            )
        place.unlock(seal, cluster)
    elif seal is not None:
        raise BackupKeyRefused(f"{place.url} is sealed: it takes a key to read or write it")


def _place_key(secret: str, salt: bytes) -> bytes:
    if len(salt) != _SALT_BYTES:
        raise ValueError("no salt")
    kdf = Scrypt(salt=salt, length=32, n=_SCRYPT_COST, r=_SCRYPT_BLOCK, p=_SCRYPT_PARALLEL)
    return kdf.derive(secret.encode())


def _file_key(key: bytes, salt: bytes, name: str) -> AESGCM:
    assert key, "a place that was neither begun nor unlocked"
    info = b"qsync backup file\0" + name.encode()
    return AESGCM(HKDF(algorithm=SHA256(), length=32, salt=salt, info=info).derive(key))


def _sealed(key: bytes, name: str, content: bytes) -> bytes:
    salt = secrets.token_bytes(_SALT_BYTES)
    return _MAGIC + salt + _file_key(key, salt, name).encrypt(_NONCE, content, _MAGIC)


def _opened(key: bytes, name: str, content: bytes) -> bytes:
    begin = len(_MAGIC)
    salt, rest = content[begin : begin + _SALT_BYTES], content[begin + _SALT_BYTES :]
    if not content.startswith(_MAGIC) or len(rest) < _TAG_BYTES:
        raise BackupDamaged(f"{name} is not sealed, or not whole: it was changed or cut off")
    try:
        return _file_key(key, salt, name).decrypt(_NONCE, rest, _MAGIC)
    except InvalidTag:
        raise BackupDamaged(
            f"{name} does not open: it was changed, cut off, or put there instead of another file"
        ) from None


def _check_name(cluster: str) -> str:
    """No name of a file: those of clusters have no colon before them."""
    return f":place of cluster {cluster}"
