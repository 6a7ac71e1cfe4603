"""Passwords without sending them: SCRAM-SHA-256 (RFC 5802, RFC 7677) over the handshake's frames.

The keys are those of the RFCs. What both sides sign is not their text but everything that was said
on this connection before (greeting, hello, challenge), each behind its length, and the binding to
the channel under it: so nothing that was overheard serves on another connection, and who sits
between two TLS connections cannot pass the proof on.
"""

import hmac
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import pbkdf2_hmac, sha256
from typing import Final

from qsync.errors import ConfigError, ProtocolError
from qsync.passwords import ITERATIONS_MAX, ITERATIONS_MIN, SALT_BYTES_MAX

ITERATIONS: Final = 100_000
"""Of a new password: some 30 ms for who knows it, and for each guess of who stole its keys."""
SALT_BYTES: Final = 16
PROOF_BYTES: Final = 32
PASSWORD_CHARACTERS_MIN: Final = 8
PASSWORD_CHARACTERS_MAX: Final = 1024


@dataclass(frozen=True, slots=True)
class PasswordKeys:
    """What a cluster keeps of a password. Neither logs anybody in, nor can it be turned back."""

    salt: bytes
    iterations: int
    stored: bytes = field(repr=False)
    server: bytes = field(repr=False)

    def options(self) -> dict[str, object]:
        """As an operation carries them."""
        return {
            "salt": self.salt,
            "iterations": self.iterations,
            "stored": self.stored,
            "server": self.server,
        }


class ClientKeys:
    """What a client derives of its password for one salt; keep it, for it takes long to make."""

    __slots__ = ("_client", "_server", "iterations", "salt")

    def __init__(self, password: str, salt: bytes, iterations: int) -> None:
        """Raises ProtocolError for a salt or a count that no honest node asks for."""
        if (
            not ITERATIONS_MIN <= iterations <= ITERATIONS_MAX
            or not 0 < len(salt) <= SALT_BYTES_MAX
        ):
            raise ProtocolError(f"a password with {iterations} iterations is not proven to anybody")
        self.salt, self.iterations = salt, iterations
        salted = pbkdf2_hmac("sha256", normal(password).encode(), salt, iterations)
        self._client = _hmac(salted, b"Client Key")
        self._server = _hmac(salted, b"Server Key")

    def proof(self, said: bytes) -> bytes:
        """Shows that the password is known, on the connection on which this was said."""
        signature = _hmac(sha256(self._client).digest(), said)
        return _xor(self._client, signature)

    def is_signed(self, said: bytes, signature: bytes) -> bool:
        """Does the other side know what is kept of the password?"""
        return hmac.compare_digest(_hmac(self._server, said), signature)

    def keys(self) -> PasswordKeys:
        """The stored form."""
        stored = sha256(self._client).digest()
        return PasswordKeys(self.salt, self.iterations, stored, self._server)


Derive = Callable[[bytes, int], ClientKeys]
"""The keys of a password for a salt and a number of iterations."""


class PasswordProver:
    """A client's side of one login: asked once, then it judges the answer.

    `derive`: the keys of the password.
    """

    __slots__ = ("_derive", "_keys", "_said")

    def __init__(self, derive: Derive) -> None:
        self._derive = derive
        self._keys: ClientKeys | None = None
        self._said = b""

    @property
    def is_asked(self) -> bool:
        """Has the node asked for it?"""
        return self._keys is not None

    def proof(self, salt: bytes, iterations: int, *said: bytes) -> bytes:
        """What shows that the password is known, behind all that was said on this channel."""
        self._keys = self._derive(salt, iterations)
        self._said = conversation(*said)
        return self._keys.proof(self._said)

    def is_signed(self, signature: bytes) -> bool:
        """Does the other side know what is kept of it?"""
        return self._keys is not None and self._keys.is_signed(self._said, signature)


def kept(password: str, salt: bytes, iterations: int = ITERATIONS) -> PasswordKeys:
    """What a cluster is to keep of a new password. Raises ConfigError if it can be guessed."""
    length = len(password)
    if not PASSWORD_CHARACTERS_MIN <= length <= PASSWORD_CHARACTERS_MAX:
        raise ConfigError(
            f"the password has {length} character{'' if length == 1 else 's'}; it needs "
            f"{PASSWORD_CHARACTERS_MIN} to {PASSWORD_CHARACTERS_MAX}"
        )
    return ClientKeys(password, salt, iterations).keys()


def checked(keys: PasswordKeys, said: bytes, proof: bytes) -> bytes | None:
    """The signature that answers a proof; None if the proof does not hold."""
    if len(proof) != PROOF_BYTES:
        return None
    client = _xor(proof, _hmac(keys.stored, said))
    if not hmac.compare_digest(sha256(client).digest(), keys.stored):
        return None
    return _hmac(keys.server, said)


def decoy(key: bytes, name: str, iterations: int = ITERATIONS) -> PasswordKeys:
    """What an unknown user is asked with: always the same for a name, so it tells nothing.

    No proof holds against it.
    """
    salt = _hmac(key, name.encode())[:SALT_BYTES]
    return PasswordKeys(
        salt, iterations, _hmac(key, b"stored" + salt), _hmac(key, b"server" + salt)
    )


def conversation(*said: bytes) -> bytes:
    """All that was said, each part behind its length."""
    return b"".join(len(part).to_bytes(8, "big") + part for part in said)


def normal(password: str) -> str:
    """One form for what looks the same, however it was typed."""
    return unicodedata.normalize("NFKC", password)


def _hmac(key: bytes, said: bytes) -> bytes:
    return hmac.new(key, said, "sha256").digest()


def _xor(one: bytes, two: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, two, strict=True))
