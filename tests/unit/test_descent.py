"""Which nodes learn that they are superseded, and which sources they believe."""

from dataclasses import replace

import cbor2
import pytest

from election.messages import Replica
from qsync.data.ancestors import ANCESTORS_MAX
from qsync.errors import AccessDenied, ForeignCluster, ProtocolError, SplitBrain, Superseded
from qsync.wire import descent, limits
from qsync.wire.descent import Descent
from qsync.wire.frames import Frames, frame
from qsync.wire.proofs import SecretKeys
from qsync.wire.session import Acceptor, Dialer, Greeting, Hello, Party, encode_greeting

KEYS = SecretKeys(b"only the members know")
OLD = Greeting(cluster="old", instance="i-1", replica=Replica(1), name="n1", nonce=b"g" * 32)
NEW = replace(OLD, cluster="new", instance="i-3", features=descent.words_of(["older", "old"]))
OLD_HELLO = Hello(
    party=Party.PEER,
    cluster="old",
    instance="i-2",
    replica=2,
    name="n2",
    address="host:3302",
    nonce=b"h" * 32,
)
NEW_HELLO = replace(OLD_HELLO, cluster="new", features=NEW.features, address="host:3303")


def payload(framed: bytes | None) -> bytes:
    assert framed is not None
    (only,) = Frames().feed(framed)
    return only


@pytest.mark.parametrize(
    ("mine", "words", "theirs", "their_words", "found"),
    [
        ("a", [], "a", [], Descent.NONE),
        ("a", [], "b", [], Descent.NONE),
        ("a", [], None, ["a"], Descent.NONE),
        ("a", [], "b", ["a"], Descent.DESCENDANT),
        ("a", [], "c", ["a", "b"], Descent.DESCENDANT),
        ("b", ["a"], "a", [], Descent.ANCESTOR),
        ("b", ["a"], "c", ["a"], Descent.SIBLING),
        ("b", ["a"], "c", ["a", "b"], Descent.DESCENDANT),
        ("b", ["c"], "c", ["b"], Descent.NONE),
        ("b", ["a"], "c", ["x"], Descent.NONE),
    ],
)
def test_which_cluster_was_made_of_which(
    mine: str, words: list[str], theirs: str | None, their_words: list[str], found: Descent
) -> None:
    told = descent.words_of(words), descent.words_of(their_words)
    assert descent.between(mine, told[0], theirs, told[1]) is found


def test_an_old_node_that_dials_the_new_cluster_learns_it_with_a_proof() -> None:
    acceptor = Acceptor(NEW, keys=KEYS)
    dialer = Dialer(OLD_HELLO, replica=Replica(3), keys=KEYS)
    hello = dialer.received(payload(acceptor.greet()))
    with pytest.raises(Superseded, match=r"n2 is superseded.* in cluster new") as refused:
        acceptor.received(payload(hello))
    assert acceptor.superseded_by == ""
    with pytest.raises(Superseded):
        dialer.received(payload(acceptor.refuse(refused.value)))
    assert dialer.superseded_by == "new"


def test_an_old_node_that_is_dialled_by_the_new_cluster_learns_it_and_where_it_is() -> None:
    acceptor, dialer = (
        Acceptor(OLD, keys=KEYS),
        Dialer(NEW_HELLO, keys=KEYS),
    )
    hello = dialer.received(payload(acceptor.greet()))
    with pytest.raises(Superseded) as refused:
        acceptor.received(payload(hello))
    assert (acceptor.superseded_by, acceptor.told_at) == ("new", "host:3303")
    with pytest.raises(Superseded):
        dialer.received(payload(acceptor.refuse(refused.value)))
    assert dialer.superseded_by == ""


@pytest.mark.parametrize("theirs", [b"", b"what somebody guessed"])
def test_who_does_not_know_the_secret_marks_nobody(theirs: bytes) -> None:
    acceptor = Acceptor(OLD, keys=KEYS)
    dialer = Dialer(NEW_HELLO, keys=SecretKeys(theirs))
    hello = dialer.received(payload(acceptor.greet()))
    with pytest.raises(AccessDenied):
        acceptor.received(payload(hello))
    assert acceptor.superseded_by == ""

    acceptor = Acceptor(NEW, keys=SecretKeys(theirs))
    dialer = Dialer(OLD_HELLO, keys=KEYS)
    hello = dialer.received(payload(acceptor.greet()))
    with pytest.raises((AccessDenied, ProtocolError)):
        acceptor.received(payload(hello))
    forged = ["no", Superseded.number, "you are superseded, believe me", bytes(32)]
    with pytest.raises(AccessDenied):
        dialer.received(payload(frame(cbor2.dumps(forged))))
    assert dialer.superseded_by == ""


def test_a_word_without_a_proof_marks_nobody() -> None:
    dialer = Dialer(OLD_HELLO)
    dialer.received(payload(encode_greeting(NEW)))
    with pytest.raises(ProtocolError):
        dialer.received(payload(frame(cbor2.dumps(["no", Superseded.number, "superseded"]))))
    assert dialer.superseded_by == ""


def test_a_proof_of_another_handshake_marks_nobody() -> None:
    first = Acceptor(NEW, keys=KEYS)
    dialer = Dialer(OLD_HELLO, keys=KEYS)
    hello = payload(dialer.received(payload(first.greet())))
    with pytest.raises(Superseded) as refused:
        first.received(hello)
    proof = payload(first.refuse(refused.value))
    again = Dialer(replace(OLD_HELLO, nonce=b"i" * 32), keys=KEYS)
    again.received(payload(encode_greeting(NEW)))
    with pytest.raises(AccessDenied):
        again.received(proof)
    assert again.superseded_by == ""


def test_nobody_is_superseded_by_its_own_or_by_a_foreign_cluster() -> None:
    acceptor = Acceptor(replace(OLD, cluster="foreign"))
    with pytest.raises(ForeignCluster):
        Dialer(OLD_HELLO).received(payload(acceptor.greet()))
    same = Dialer(OLD_HELLO)
    same.received(payload(encode_greeting(OLD)))
    with pytest.raises(Superseded):
        same.received(payload(frame(cbor2.dumps(["no", Superseded.number, "so am I", bytes(32)]))))
    assert same.superseded_by == ""


def test_a_node_of_another_generation_is_no_peer_even_if_it_agrees() -> None:
    dialer = Dialer(OLD_HELLO)
    dialer.received(payload(encode_greeting(NEW)))
    with pytest.raises(ProtocolError, match="another generation"):
        dialer.received(payload(frame(cbor2.dumps(["ok", bytes(32)]))))


def test_two_recoveries_of_one_cluster_supersede_neither() -> None:
    other = replace(NEW_HELLO, cluster="newer", features=descent.words_of(["old"]))
    acceptor, dialer = Acceptor(NEW), Dialer(other)
    with pytest.raises(SplitBrain, match="by two recoveries"):
        dialer.received(payload(acceptor.greet()))
    assert dialer.superseded_by == acceptor.superseded_by == ""


def test_all_ancestors_that_are_told_have_room_among_the_words() -> None:

    assert ANCESTORS_MAX * 2 <= limits.FEATURES_MAX
