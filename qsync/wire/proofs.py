"""How two members show each other in the handshake that they know the cluster's secret.

Each side proves it over all that both have said, with the nonces and names of both in it: HMAC with
SHA-256, so nothing that was overheard serves again and the secret itself is never sent. Without a
secret the key is known to everybody, and the same proof is only a checksum of the handshake.

While a cluster changes its secret, a node knows several: it proves its own, and accepts each. The
acceptor answers by the secret that the dialer has proved, so both sides use one.

What it does not do: what is said afterwards bears checksums, not proofs. Who can change bytes on
the way between two members needs no secret.
"""

import hmac
from typing import Final, NamedTuple

import cbor2
from typing_extensions import override

from qsync.errors import AccessDenied, ProtocolError, QsyncError

PROOF_BYTES: Final = 32
NONCE_BYTES: Final = 32
FEATURE: Final = "secret"
"""Said in greeting and hello by who has one."""
_OPEN: Final = b"qsync without a secret"
_HELLO, _OK, _SUPERSEDED = b"qsync hello", b"qsync ok", b"qsync superseded"
_OLD_COPY: Final = b"qsync old copy"
_NO_PROOF: Final = bytes(PROOF_BYTES)


class SecretKeys(NamedTuple):
    """The keys of the secrets that a node knows; an empty key is that of no secret."""

    own: bytes = b""
    """What it proves."""
    others: tuple[bytes, ...] = ()
    """What it accepts beside its own, while the cluster changes its secret."""

    @override
    def __repr__(self) -> str:
        return f"SecretKeys({1 + len(self.others)}, not shown)"

    def toward(self, *, has: bool) -> bytes:
        """Return the key to prove to a node that has a secret, or has none, by its greeting."""
        return b"" if not has and b"" in self.others else self.own


NO_KEYS: Final = SecretKeys()


def proven(greeted: bytes, fields: list[object], secret: bytes) -> bytes:
    """A hello of these fields, and as its last one the proof over the greeting and itself."""
    bare = cbor2.dumps([*fields, _NO_PROOF])[:-PROOF_BYTES]
    return bare + _proof(secret, _HELLO, greeted, bare)


def agreed(greeted: bytes, hello: bytes, secret: bytes) -> bytes:
    """The acceptor's proof in its "ok"."""
    return _proof(secret, _OK, greeted, hello)


def superseded(greeted: bytes, hello: bytes, secret: bytes) -> bytes:
    """The acceptor's proof that it says "superseded" to this very hello (membership.md M8 e)."""
    return _proof(secret, _SUPERSEDED, greeted, hello)


def old_copy(greeted: bytes, hello: bytes, secret: bytes) -> bytes:
    """The acceptor's proof that it says "old copy" to this very hello (membership.md M7 c)."""
    return _proof(secret, _OLD_COPY, greeted, hello)


def check_hello(greeted: bytes, hello: bytes, keys: SecretKeys, *, has: bool, who: str) -> bytes:
    """Return the key by which the proof holds that ends this hello of `who`.

    Raises AccessDenied or ProtocolError.
    """
    said, proof = hello[:-PROOF_BYTES], hello[-PROOF_BYTES:]
    for key in (keys.own, *keys.others):
        if hmac.compare_digest(_proof(key, _HELLO, greeted, said), proof):
            return key
    raise _refused(keys.own, has=has, who=who)


def check_ok(
    greeted: bytes, hello: bytes, proof: bytes, secret: bytes, *, has: bool, who: str
) -> None:
    """Does the acceptor's proof hold? Raises AccessDenied or ProtocolError."""
    if not hmac.compare_digest(_proof(secret, _OK, greeted, hello), proof):
        raise _refused(secret, has=has, who=who)


def check_superseded(
    greeted: bytes, hello: bytes, proof: bytes, secret: bytes, *, has: bool, who: str
) -> None:
    """Does it hold that the acceptor's cluster was made of ours? Raises as `check_ok`."""
    if not hmac.compare_digest(_proof(secret, _SUPERSEDED, greeted, hello), proof):
        raise _refused(secret, has=has, who=who)


def check_old_copy(
    greeted: bytes, hello: bytes, proof: bytes, secret: bytes, *, has: bool, who: str
) -> None:
    """Does it hold that we run on an old copy of our directory? Raises as `check_ok`."""
    if not hmac.compare_digest(_proof(secret, _OLD_COPY, greeted, hello), proof):
        raise _refused(secret, has=has, who=who)


def _proof(secret: bytes, what: bytes, *said: bytes) -> bytes:
    mac = hmac.new(secret or _OPEN, digestmod="sha256")
    for part in (what, *said):
        mac.update(len(part).to_bytes(8, "big"))
        mac.update(part)
    return mac.digest()


def _refused(secret: bytes, *, has: bool, who: str) -> QsyncError:
    hint = (
        "cluster.secret or the content of cluster.secret_file must be the same on all members; "
        "`qsync init` puts it into the file `secret` of each directory; a running cluster gets or "
        "changes it node by node with cluster.secret_optional or several secrets in the file"
    )
    if not secret and not has:
        return ProtocolError(f"the handshake with {who} does not hold: bytes were changed in it")
    if not secret:
        return AccessDenied(f"{who} has a cluster secret, this node has none", hint=hint)
    if not has:
        return AccessDenied(f"this node has a cluster secret, {who} has none", hint=hint)
    return AccessDenied(f"{who} does not prove that it knows this cluster's secret", hint=hint)
