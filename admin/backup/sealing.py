"""Backups that nobody reads or changes without their key: every file of a place, but one, sealed.

A file is encrypted and authenticated (AES-256-GCM) under a key of its own, which is derived
(HKDF-SHA256) from the key of the place, a salt in the file, and the file's name. So a part that was
changed, cut off, put in the place of another one or taken from another place does not open, and
nor does a manifest; the manifests in turn hold the SHA-256 of every part. The key of a place is
derived (scrypt, RFC 7914) from what its owner knows and a salt of the place.

A place that was begun with a sealing key (`key_pairs`) has its manifests sealed in that way, and
the data so that only who has the key behind it reads it.

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

from admin.backup import deriving, key_pairs, names
from admin.backup.failures import BackupDamaged, BackupKeyRefused
from admin.backup.key_pairs import OpeningKey, SealingKey
from admin.backup.places import BackupPlace
from qsync.errors import WrongFormat

SECRET_SCHEME: Final = 1
"""One key seals and opens."""
PAIR_SCHEME: Final = 2
"""A sealing key seals, and what it was made from opens."""
_MAGIC: Final = b"QSYNCSEAL1"
_SALT_BYTES: Final = 32
_KEY_BYTES: Final = 32
_TAG_BYTES: Final = 16
_SEAL_BYTES: Final = len(_MAGIC) + _SALT_BYTES + _TAG_BYTES
"""A sealed file has so many bytes more."""
_NONCE: Final = bytes(12)
"""The same for all: no key is used twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceSeal:
    """What a place says of its seal. `check`: opens with the right key, and with no other.

    `salt`: of the place, behind that of the sealing key if it was begun with one.
    """

    scheme: int
    salt: str
    check: str


class SealedPlace:
    """A sealed place for the owner of its secret: files in clear text, under the same names.

    Nothing but the manifest of the place can be read or written before `begin_seal` or `unlock`.
    """

    def __init__(self, place: BackupPlace, secret: str) -> None:
        """`secret`: the key of the place, or a sealing key as text. Raises ConfigError."""
        self.url = place.url
        self._place = place
        self._secret = secret
        self._given = SealingKey.parse(secret)
        """The secret, if it is a sealing key."""
        self._sealing: SealingKey | None = None
        """Seals data for the holder of the private key."""
        self._opening: OpeningKey | None = None
        """That key, where it was given."""
        self._salt = b""
        self._key = b""

    def begin_seal(self, cluster: str) -> PlaceSeal:
        """Make up a key for a place where nothing is yet. Raises BackupKeyRefused."""
        salt = secrets.token_bytes(_SALT_BYTES)
        if self._given is not None:
            self._use(self._given, salt)
            check = _sealed(self._key, _pair_check(cluster, self._given), b"")
            both = self._given.salt + salt
            return PlaceSeal(scheme=PAIR_SCHEME, salt=both.hex(), check=check.hex())
        deriving.check_length(self._secret, self.url)
        self._key = _place_key(self._secret, salt)
        check = _sealed(self._key, _check_name(cluster), b"")
        return PlaceSeal(scheme=SECRET_SCHEME, salt=salt.hex(), check=check.hex())

    def unlock(self, seal: PlaceSeal, cluster: str) -> None:
        """Take the key of a place. Raises BackupKeyRefused where it is another, WrongFormat."""
        if seal.scheme not in (SECRET_SCHEME, PAIR_SCHEME):
            raise WrongFormat(
                f"{self.url} is sealed by scheme {seal.scheme}, this release knows "
                f"{SECRET_SCHEME} and {PAIR_SCHEME}",
                hint="use the release that wrote it, or a newer one",
            )
        if self._given is not None and seal.scheme == SECRET_SCHEME:
            raise BackupKeyRefused(
                f"{self.url} was not begun with a sealing key, and this is one",
                hint="one that is sealed for its key alone takes that key; or name another place",
            )
        try:
            salt, check = bytes.fromhex(seal.salt), bytes.fromhex(seal.check)
            if seal.scheme == PAIR_SCHEME:
                self._unlock_pair(salt, check, cluster)
                return
            key = _place_key(self._secret, salt)
            _opened(key, _check_name(cluster), check)
        except (ValueError, TypeError, BackupDamaged):
            raise BackupKeyRefused(
                f"{self.url} does not open with this key",
                hint=f"it is another key, or somebody has changed {names.PLACE} there",
            ) from None
        self._key = key

    @property
    def opens(self) -> bool:
        """Data is read with this key, and not only manifests."""
        return self._sealing is None or self._opening is not None

    def refusal(self, what: str) -> BackupKeyRefused:
        """Why a sealing key is not enough."""
        return BackupKeyRefused(
            f"{self.url}: a sealing key does not open {what}",
            hint="to verify or restore takes the key that it was made from",
        )

    def names(self, folder: str) -> list[str]:
        """Files in it."""
        return self._place.names(folder)

    def folders(self, folder: str) -> list[str]:
        """Folders in it."""
        return self._place.folders(folder)

    def sizes(self, folder: str) -> dict[str, int | None]:
        """Sizes of the files in it without their seals; 0 of one that is shorter than its seal."""
        found = self._place.sizes(folder)
        return {
            name: None if size is None else max(0, size - self._seal_bytes(name))
            for name, size in found.items()
        }

    def read(self, name: str) -> bytes:
        """All of a file. Raises BackupDamaged where it is not as it was sealed.

        BackupKeyRefused for data where the key only seals.
        """
        content = self._place.read(name)
        if name == names.PLACE:
            return content
        if self._sealing is None or name.endswith(names.MANIFEST_SUFFIX):
            return _opened(self._key, name, content)
        if self._opening is None:
            raise self.refusal(name)
        return self._opening.open(self._salt, name, content)

    def write(self, name: str, content: bytes) -> None:
        """Write a file sealed, whole or not at all."""
        self._place.write(name, self._as_sealed(name, content))

    def write_new(self, name: str, content: bytes) -> bool:
        """Write a file sealed unless there is one; return whether it was written."""
        return self._place.write_new(name, self._as_sealed(name, content))

    def _as_sealed(self, name: str, content: bytes) -> bytes:
        if name != names.PLACE:
            if self._sealing is None or name.endswith(names.MANIFEST_SUFFIX):
                content = _sealed(self._key, name, content)
            else:
                content = self._sealing.seal(self._salt, name, content)
        return content

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        self._place.remove(name)

    def remove_folder(self, folder: str) -> None:
        """Remove a folder with its files."""
        self._place.remove_folder(folder)

    def _seal_bytes(self, name: str) -> int:
        if name == names.PLACE:
            return 0
        if self._sealing is None or name.endswith(names.MANIFEST_SUFFIX):
            return _SEAL_BYTES
        return key_pairs.SEAL_BYTES

    def _unlock_pair(self, salts: bytes, check: bytes, cluster: str) -> None:
        """Raises ValueError, BackupDamaged for another key."""
        former, salt = salts[: key_pairs.SALT_BYTES], salts[key_pairs.SALT_BYTES :]
        if self._given is None:
            self._opening = OpeningKey(self._secret, former)
            sealing = self._opening.sealing
        else:
            sealing = self._given
        if sealing.salt != former:
            raise ValueError("of another sealing key")
        _opened(_manifest_key(sealing, salt), _pair_check(cluster, sealing), check)
        self._use(sealing, salt)

    def _use(self, sealing: SealingKey, salt: bytes) -> None:
        self._sealing, self._salt = sealing, salt
        self._key = _manifest_key(sealing, salt)


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


def check_opens(place: BackupPlace) -> None:
    """Check that the key opens more than manifests. Raises BackupKeyRefused for a sealing key."""
    if isinstance(place, SealedPlace) and not place.opens:
        raise place.refusal("what is kept there")


def _place_key(secret: str, salt: bytes) -> bytes:
    if len(salt) != _SALT_BYTES:
        raise ValueError("no salt")
    return deriving.derived(secret, salt, _KEY_BYTES)


def _manifest_key(sealing: SealingKey, salt: bytes) -> bytes:
    if len(salt) != _SALT_BYTES:
        raise ValueError("no salt")
    info = b"qsync backup manifests"
    kdf = HKDF(algorithm=SHA256(), length=_KEY_BYTES, salt=salt, info=info)
    return kdf.derive(sealing.manifests)


def _file_key(key: bytes, salt: bytes, name: str) -> AESGCM:
    assert key, "a place that was neither begun nor unlocked"
    info = b"qsync backup file\0" + name.encode()
    return AESGCM(HKDF(algorithm=SHA256(), length=_KEY_BYTES, salt=salt, info=info).derive(key))


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
    """The name that the check of a key is sealed under; its colon keeps it apart from files."""
    return f":place of cluster {cluster}"


def _pair_check(cluster: str, sealing: SealingKey) -> str:
    """The same name for the key that can open what a sealing key sealed."""
    return f"{_check_name(cluster)} for {sealing.public.hex()}"
