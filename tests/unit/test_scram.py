"""Passwords: the keys of the RFC, and a handshake that nothing overheard passes again."""

import base64
import hmac
from hashlib import sha256

import pytest

from election.messages import Replica
from qsync.client.login import Credentials
from qsync.errors import AccessDenied, ConfigError, ProtocolError, QsyncError
from qsync.wire import proofs, scram
from qsync.wire.connection_states import ConnectionState
from qsync.wire.frames import LENGTH_SIZE
from qsync.wire.scram import ClientKeys, PasswordKeys
from qsync.wire.session import Acceptor, Dialer, Greeting, Hello, Party

SALT, ROUNDS = b"0123456789abcdef", 4096
ANN = Credentials("ann", "correct horse")
KEPT = scram.kept(ANN.password, SALT, ROUNDS)


def payload(framed: bytes) -> bytes:
    return framed[LENGTH_SIZE:]


def greeting() -> Greeting:
    return Greeting(
        cluster="c", instance="i", replica=Replica(1), name="n1", nonce=bytes(proofs.NONCE_BYTES)
    )


class Talk:
    """A node that keeps `kept` for whoever comes, and a client; each frame is remembered."""

    def __init__(
        self,
        who: Credentials = ANN,
        kept: PasswordKeys = KEPT,
        bindings: tuple[bytes, bytes] = (b"", b""),
        nonce: bytes = bytes(32),
    ) -> None:
        hello = Hello(party=Party.CLIENT, user=who.user, nonce=b"c" * 32)
        self.kept = kept
        self.acceptor, self.dialer = Acceptor(greeting()), Dialer(hello, derive=who.derive)
        self.acceptor.binding, self.dialer.binding = bindings
        said = self.dialer.received(payload(self.acceptor.greet()))
        assert said is not None
        self.hello = self.acceptor.received(payload(said))
        self.challenge = self.acceptor.challenge(kept, nonce)
        proof = self.dialer.received(payload(self.challenge))
        assert proof is not None
        self.proof = payload(proof)

    def holds(self) -> bool:
        return self.acceptor.proven(self.proof, self.kept)


def test_the_keys_are_those_of_rfc_7677() -> None:
    """Its example: user "user", password "pencil"."""
    said = b"".join(
        (
            b"n=user,r=rOprNGfwEbeRWgbNEkqO,",
            b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,",
            b"i=4096,c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0",
        )
    )
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    keys = ClientKeys("pencil", salt, 4096)
    proof = base64.b64decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    assert keys.proof(said) == proof
    signature = scram.checked(keys.keys(), said, proof)
    assert signature == base64.b64decode("6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


def test_who_knows_the_password_is_let_in_by_a_node_that_knows_it_too() -> None:
    talk = Talk()
    assert talk.hello.user == "ann"
    assert talk.holds()
    assert talk.dialer.received(payload(talk.acceptor.accept())) is None
    assert talk.acceptor.state is talk.dialer.state is ConnectionState.READY


def test_another_password_is_not_let_in() -> None:
    assert not Talk(Credentials("ann", "battery staple")).holds()


def test_what_is_kept_logs_nobody_in() -> None:
    """A thief of `_user` has stored and server key: neither makes a proof."""
    talk = Talk()
    said = scram.conversation(b"any", b"thing")
    for stolen in (KEPT.stored, KEPT.server):
        forged = bytes(
            a ^ b
            for a, b in zip(
                stolen, hmac.new(sha256(stolen).digest(), said, "sha256").digest(), strict=True
            )
        )
        assert scram.checked(KEPT, said, forged) is None
    assert talk.holds()


def test_an_overheard_proof_is_worth_nothing_on_another_connection() -> None:
    heard = Talk().proof
    again = Talk(nonce=b"n" * 32)
    again.proof = heard
    assert not again.holds()


def test_a_proof_made_for_another_channel_is_refused() -> None:
    assert Talk(bindings=(b"one", b"one")).holds()
    assert not Talk(bindings=(b"one", b"two")).holds()


def test_a_node_that_does_not_know_the_password_is_found_out() -> None:
    thief = PasswordKeys(KEPT.salt, KEPT.iterations, KEPT.stored, bytes(32))
    talk = Talk(kept=thief)
    assert talk.holds()
    with pytest.raises(AccessDenied, match="does not know the password"):
        talk.dialer.received(payload(talk.acceptor.accept()))


def test_a_node_that_asks_for_nothing_is_not_believed() -> None:
    hello = Hello(party=Party.CLIENT, user="ann", nonce=bytes(32))
    acceptor, dialer = Acceptor(greeting()), Dialer(hello, derive=ANN.derive)
    said = dialer.received(payload(acceptor.greet()))
    assert said is not None
    acceptor.received(payload(said))
    with pytest.raises(AccessDenied, match="did not ask"):
        dialer.received(payload(acceptor.accept()))


def test_who_has_no_password_is_told_how_to_give_one() -> None:
    acceptor, dialer = Acceptor(greeting()), Dialer(Hello(party=Party.CLIENT))
    said = dialer.received(payload(acceptor.greet()))
    assert said is not None
    acceptor.received(payload(said))
    with pytest.raises(AccessDenied, match="QSYNC_PASSWORD"):
        dialer.received(payload(acceptor.challenge(KEPT, bytes(32))))


@pytest.mark.parametrize("iterations", [0, 1, 4095, 1_000_001, 1 << 62])
def test_a_client_does_not_work_for_a_dishonest_node(iterations: int) -> None:
    with pytest.raises(ProtocolError):
        Talk(kept=PasswordKeys(SALT, iterations, KEPT.stored, KEPT.server))


@pytest.mark.parametrize("salt", [b"", b"s" * 65])
def test_nor_with_a_salt_that_is_none(salt: bytes) -> None:
    with pytest.raises(ProtocolError):
        ClientKeys("correct horse", salt, ROUNDS)


@pytest.mark.parametrize("password", ["", "seven77", "x" * 1025])
def test_a_password_has_so_many_characters(password: str) -> None:
    with pytest.raises(ConfigError, match="8 to 1024"):
        scram.kept(password, SALT, ROUNDS)


def test_what_looks_alike_is_alike() -> None:
    composed, apart = "caf\u00e9 au lait", "cafe\u0301 au lait"
    assert scram.kept(composed, SALT, ROUNDS) == scram.kept(apart, SALT, ROUNDS)


def test_nothing_shows_a_password() -> None:
    assert "horse" not in repr(ANN)
    assert KEPT.stored.hex() not in repr(KEPT)
    assert repr(KEPT.stored) not in repr(KEPT)


def test_an_unknown_user_is_asked_with_the_same_salt_each_time() -> None:
    one, again = scram.decoy(b"k" * 32, "nobody"), scram.decoy(b"k" * 32, "nobody")
    assert one == again
    assert len(one.salt) == scram.SALT_BYTES
    assert one.iterations == scram.ITERATIONS
    assert scram.decoy(b"k" * 32, "anybody").salt != one.salt
    assert scram.decoy(b"j" * 32, "nobody").salt != one.salt


@pytest.mark.parametrize("frame", [b"", b"\x81\x65proof", b"\x82\x65proof\x40", b"\x82\x62ok\x40"])
def test_what_is_no_proof_is_refused(frame: bytes) -> None:
    talk = Talk()
    talk.proof = frame
    try:
        assert not talk.holds()
    except QsyncError:
        pass
    assert talk.acceptor.state is not ConnectionState.READY
