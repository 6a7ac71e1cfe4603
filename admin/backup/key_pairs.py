"""Keys that seal and do not open: a node that makes backups cannot read those of others.

Of a secret and a salt (scrypt) two keys are derived: the private one of X25519, and one that seals
manifests. A sealing key is that salt, the public half of the first one, and the second one. So its
holder reads and writes manifests, and nobody without it can; of the data he can only write. A part
is encrypted (AES-256-GCM) under a key that HKDF-SHA256 derives from the secret that a new key pair
shares with the public key, from the place and from the name of the file. The private half of the
new pair is never kept. Who has written a part is shown by the manifest, which has its SHA-256.
"""

import base64
import hashlib
import secrets
from dataclasses import dataclass
from typing import Final, Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from admin.backup import deriving
from admin.backup.failures import BackupDamaged
from qsync.errors import ConfigError

SALT_BYTES: Final = 32
_PREFIX: Final = "qsync-sealing-key-1:"
_KEY_BYTES: Final = 32
_SUM_BYTES: Final = 8
_SEALING_BYTES: Final = SALT_BYTES + 2 * _KEY_BYTES
_MAGIC: Final = b"QSYNCSEAL2"
_TAG_BYTES: Final = 16
SEAL_BYTES: Final = len(_MAGIC) + _KEY_BYTES + _TAG_BYTES
"""A sealed part has so many bytes more."""
_NONCE: Final = bytes(12)
"""The same for all: no key is used twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SealingKey:
    """The half for those that make backups. `public`: of X25519. `manifests`: seals those."""

    salt: bytes
    public: bytes
    manifests: bytes

    @property
    def text(self) -> str:
        """The key as the text of a file."""
        content = self.salt + self.public + self.manifests
        return _PREFIX + base64.urlsafe_b64encode(content + _sum(content)).decode()

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Parse what `text` wrote; None for a key of another kind. Raises ConfigError.

        A changed key would seal for another owner, or for none.
        """
        if not text.startswith(_PREFIX):
            return None
        try:
            content = base64.b64decode(text.removeprefix(_PREFIX), altchars=b"-_", validate=True)
        except ValueError:
            content = b""
        kept, total = content[:_SEALING_BYTES], content[_SEALING_BYTES:]
        if len(kept) != _SEALING_BYTES or total != _sum(kept):
            raise ConfigError(
                "this is a sealing key that was cut off or changed",
                hint="`qsync backup sealing-key` makes another one from the key that opens",
            )
        public = kept[SALT_BYTES : SALT_BYTES + _KEY_BYTES]
        return cls(salt=kept[:SALT_BYTES], public=public, manifests=kept[-_KEY_BYTES:])

    def seal(self, place: bytes, name: str, content: bytes) -> bytes:
        """Seal a part for the owner of the secret. `place`: a value that no other place has."""
        made = X25519PrivateKey.generate()
        half = made.public_key().public_bytes_raw()
        key = _part_key(made, self.public, half + self.public, _info(place, name))
        return _MAGIC + half + key.encrypt(_NONCE, content, _MAGIC)


class OpeningKey:
    """The half that the secret gives: it seals, and opens what the sealing key sealed.

    `sealing`: its other half.
    """

    def __init__(self, secret: str, salt: bytes) -> None:
        """Takes a quarter of a second. Raises ValueError for a salt of another length."""
        if len(salt) != SALT_BYTES:
            raise ValueError(f"a salt of {len(salt)} bytes")
        both = deriving.derived(secret, salt, 2 * _KEY_BYTES)
        self._private = X25519PrivateKey.from_private_bytes(both[:_KEY_BYTES])
        public = self._private.public_key().public_bytes_raw()
        self.sealing = SealingKey(salt=salt, public=public, manifests=both[_KEY_BYTES:])

    @classmethod
    def fresh(cls, secret: str) -> Self:
        """Make one with a new salt, so with another sealing key. Raises BackupKeyRefused."""
        deriving.check_length(secret, "a sealing key")
        return cls(secret, secrets.token_bytes(SALT_BYTES))

    def open(self, place: bytes, name: str, content: bytes) -> bytes:
        """Open a part. Raises BackupDamaged where it is not as it was sealed."""
        begin = len(_MAGIC)
        half, rest = content[begin : begin + _KEY_BYTES], content[begin + _KEY_BYTES :]
        if not content.startswith(_MAGIC) or len(rest) < _TAG_BYTES:
            raise BackupDamaged(f"{name} is not sealed, or not whole: it was changed or cut off")
        try:
            salt = half + self.sealing.public
            return _part_key(self._private, half, salt, _info(place, name)).decrypt(
                _NONCE, rest, _MAGIC
            )
        except (InvalidTag, ValueError):  # ValueError: half of a pair that shares nothing
            raise BackupDamaged(
                f"{name} does not open: it was changed, cut off, or put there instead of another "
                "file"
            ) from None


def _part_key(own: X25519PrivateKey, other: bytes, salt: bytes, info: bytes) -> AESGCM:
    shared = own.exchange(X25519PublicKey.from_public_bytes(other))
    return AESGCM(HKDF(algorithm=SHA256(), length=_KEY_BYTES, salt=salt, info=info).derive(shared))


def _info(place: bytes, name: str) -> bytes:
    return b"qsync backup part\0" + place + name.encode()


def _sum(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()[:_SUM_BYTES]
