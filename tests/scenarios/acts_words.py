"""Words from outside: configurations, strangers' handshakes, messages that make no sense."""

from collections.abc import Mapping

import cbor2

from election.messages import Replica
from qsync.config import NodeConfig
from qsync.errors import QsyncError
from qsync.wire import peer_messages, proofs
from qsync.wire.frames import LENGTH_SIZE
from qsync.wire.proofs import SecretKeys
from qsync.wire.session import Acceptor, Dialer, Greeting, Hello, Party
from tests.scenarios.acts import act
from tests.scenarios.stage import Stage

CLUSTER = "8c2f6b1e"
"""The cluster that both sides of a handshake are of unless something else is said."""
NONCE = bytes(proofs.NONCE_BYTES)


@act
def config(stage: Stage, words: list[str]) -> None:
    """config OPTION=VALUE ...: a node is started with these; it takes all or says what is wrong."""
    flags = dict(word.partition("=")[::2] for word in words)
    refused = _refusal(flags)
    stage.say(f"{' '.join(words)}: {refused or 'fine'}")


@act
def members_max(stage: Stage, words: list[str]) -> None:
    """members-max COUNT...: is a configuration with so many members taken?"""
    for word in words:
        peers = [f"{n}:n{n}@127.0.0.1:{3300 + n}" for n in range(1, int(word) + 1)]
        config = {"cluster.id": "8c2f6b1e-0c5a-4f62-9d0e-3a7d1b9c4e55", "peers": ",".join(peers)}
        stage.say(f"{word} members: {_refusal(config) or 'fine'}")


def _refusal(flags: Mapping[str, str]) -> str | None:
    try:
        NodeConfig.load(env={}, flags=flags)
    except QsyncError as error:
        return error.message
    return None


@act
def dial(stage: Stage, words: list[str]) -> None:
    """dial A B [FIELD=VALUE ...]: node A dials where it expects B; what either side says to that.

    Fields of A's hello: `cluster`, `instance`, `id`, `version` (`-` for none). Who answers:
    `answers=ID`, `of=CLUSTER`, `as=INSTANCE`. Of either side's configuration: `secret`, that of
    B as `b.secret`: the one that it proves, then others that it accepts (`new,old`, `new,`).
    """
    given = dict(word.partition("=")[::2] for word in words[2:])
    expected = int(words[1])
    found = int(given.get("answers", words[1]))
    ours, theirs = _keys(given.get("secret", "")), _keys(given.get("b.secret", ""))
    acceptor = Acceptor(
        Greeting(
            cluster=given.get("of", CLUSTER),
            instance=given.get("as", f"uuid-{found}"),
            replica=Replica(found),
            name=f"n{found}",
            nonce=NONCE,
            features=(proofs.FEATURE,) if theirs.own else (),
        ),
        keys=theirs,
    )
    dialer = Dialer(_hello(words[0], given), replica=Replica(expected), keys=ours)
    stage.say(f"{words[0]}>{words[1]} {_shake(dialer, acceptor)}")


def _hello(me: str, given: Mapping[str, str]) -> Hello:
    instance, cluster = given.get("instance", f"uuid-{me}"), given.get("cluster", CLUSTER)
    return Hello(
        party=Party.PEER,
        cluster=None if cluster == "-" else cluster,
        instance=None if instance == "-" else instance,
        replica=int(given.get("id", me)),
        name=f"n{me}",
        version=int(given.get("version", "1")),
        nonce=NONCE,
        features=(proofs.FEATURE,) if "secret" in given else (),
    )


def _keys(text: str) -> SecretKeys:
    """The secrets of a side, its own first; one that is empty is accepted from who has none."""
    own, *others = text.split(",")
    return SecretKeys(own.encode(), tuple(each.encode() for each in others))


def _shake(dialer: Dialer, acceptor: Acceptor) -> str:
    try:
        hello = dialer.received(acceptor.greet()[LENGTH_SIZE:])
    except QsyncError as error:
        return f"the dialer hangs up: {error.code}: {error.message}"
    assert hello is not None
    try:
        acceptor.received(hello[LENGTH_SIZE:])
        answer = acceptor.accept()
    except QsyncError as error:
        answer = acceptor.refuse(error)
    try:
        dialer.received(answer[LENGTH_SIZE:])
    except QsyncError as error:
        return f"refused: {error.code}: {error.message}"
    return "ready"


@act
def peer_says(stage: Stage, words: list[str]) -> None:
    """peer-says WORD...: a message of a peer, field by field, as a node reads it from the wire."""
    payload = cbor2.dumps([_field(word) for word in words])
    try:
        said = repr(type(peer_messages.decode(payload)).__name__)
    except QsyncError as error:
        said = f"{error.code}: {error.message}"
    stage.say(f"{' '.join(words)}: {said}")


def _field(word: str) -> object:
    if word in {"true", "false"}:
        return word == "true"
    return int(word) if word.lstrip("-").isdecimal() else word
