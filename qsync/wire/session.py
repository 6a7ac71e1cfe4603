"""Who says what when on a fresh connection: greeting, hello, then "ok" or "no".

The acceptor greets, the dialer says hello, the acceptor agrees or refuses. Of a client it may want
a proof first that it knows the password of its user. The table below is all there is to it; both
sides are sans-IO and never raise anything but errors of `qsync.errors`.
"""

from typing import Final

import cbor2

from election.messages import Replica
from qsync.error_details import BY_LEADER, RETRY_AFTER
from qsync.errors import AccessDenied, ProtocolError, QsyncError, Superseded, error_of
from qsync.life import OldCopy
from qsync.wire import cbor, limits, proofs, scram
from qsync.wire.connection_states import ConnectionState, SessionInput, next_state
from qsync.wire.descent import Descent, between, superseded_node, two_recoveries
from qsync.wire.frames import LENGTH_SIZE, frame
from qsync.wire.greetings import (
    Greeting,
    Hello,
    Party,
    check_greeting,
    check_hello,
    common_version,
    decode_greeting,
    decode_hello,
    encode_greeting,
    encode_hello,
    read_greeting,
)
from qsync.wire.proofs import NO_KEYS, SecretKeys
from qsync.wire.scram import Derive, PasswordKeys, PasswordProver

__all__ = [
    "Acceptor",
    "ConnectionState",
    "Dialer",
    "Greeting",
    "Hello",
    "Party",
    "check_greeting",
    "check_hello",
    "common_version",
    "decode_greeting",
    "decode_hello",
    "encode_greeting",
    "encode_hello",
]

NO_USERS: Final = "its cluster has no users"
NO_USERS_FIX: Final = "leave user and password away"
_LOG_IN: Final = "give user and password: QSYNC_USER and QSYNC_PASSWORD, or a file of it"


class Acceptor:
    """The side that was dialled. `greet()`, feed `received()`, then `accept()` or `refuse()`.

    `keys`: of the cluster's secret. Peers must prove that they know it.
    """

    def __init__(self, greeting: Greeting, *, keys: SecretKeys = NO_KEYS) -> None:
        self.greeting = greeting
        self.binding = b""
        """What names the channel below where it is TLS: a proof of a password holds on it only."""
        self.hello: Hello | None = None
        self.state = ConnectionState.GREETING
        self.superseded_by = ""
        self.told_at = ""
        """The cluster that was made of ours, once the dialer has proved that; and its address."""
        self._keys = keys
        self._agreed = keys.own
        """The key that the dialer has proved, and by which it is answered."""
        self._greeted = self._heard = self._asked = self._signature = b""

    def greet(self) -> bytes:
        """The first frame to send."""
        self.state = next_state(self.state, SessionInput.GREETING)
        framed = encode_greeting(self.greeting)
        self._greeted = framed[LENGTH_SIZE:]
        return framed

    def received(self, payload: bytes) -> Hello:
        """The dialer's hello, checked. On an error send `refuse(error)` and close."""
        if self.hello is not None:
            raise ProtocolError("a second hello")
        self.state = next_state(self.state, SessionInput.HELLO)
        hello = decode_hello(payload)
        descent = Descent.NONE
        if hello.party is Party.PEER:
            mine = self.greeting
            descent = between(mine.cluster, mine.features, hello.cluster, hello.features)
        if descent is Descent.NONE:
            check_hello(self.greeting, hello)
        if hello.party is Party.PEER:
            has = proofs.FEATURE in hello.features
            self._agreed = proofs.check_hello(
                self._greeted, payload, self._keys, has=has, who=hello.name
            )
        self.hello, self._heard = hello, payload
        if descent is not Descent.NONE:
            raise self._relative(descent, hello)
        return hello

    def _relative(self, descent: Descent, hello: Hello) -> QsyncError:
        """Return the error for a dialer of a related cluster, which has proved our secret."""
        theirs, mine = str(hello.cluster), self.greeting.cluster
        if descent is Descent.SIBLING:
            return two_recoveries(mine, theirs)
        if descent is Descent.DESCENDANT:
            self.superseded_by, self.told_at = theirs, hello.address
            return superseded_node(self.greeting.name, theirs)
        return superseded_node(hello.name, mine)

    def challenge(self, keys: PasswordKeys, nonce: bytes) -> bytes:
        """The frame that wants a proof of the client that it knows this password."""
        self.state = next_state(self.state, SessionInput.PROVE)
        framed = frame(cbor2.dumps([SessionInput.PROVE.value, nonce, keys.salt, keys.iterations]))
        self._asked = framed[LENGTH_SIZE:]
        return framed

    def proven(self, payload: bytes, keys: PasswordKeys) -> bool:
        """Return whether the client's proof is right. Raises ProtocolError if malformed."""
        self.state = next_state(self.state, SessionInput.PROOF)
        fields = cbor.Fields(cbor.loads_array(payload), "proof")
        if fields.text() != SessionInput.PROOF:
            raise fields.refused("'proof'")
        said = scram.conversation(self._greeted, self._heard, self._asked, self.binding)
        signature = scram.checked(keys, said, fields.raw(scram.PROOF_BYTES))
        self._signature = signature or b""
        return signature is not None

    def accept(self) -> bytes:
        """The frame that ends the handshake."""
        assert self.hello is not None
        self.state = next_state(self.state, SessionInput.OK)
        if self._signature:
            return frame(cbor2.dumps([SessionInput.OK.value, self._signature]))
        if self.hello.party is Party.CLIENT:
            return _OK
        proof = proofs.agreed(self._greeted, self._heard, self._agreed)
        return frame(cbor2.dumps([SessionInput.OK.value, proof]))

    def refuse(self, error: QsyncError) -> bytes:
        """The last frame before closing; it tells the dialer why, and when to come again.

        That it is superseded, or an old copy, is proved to it: it is not to believe that of
        anybody.
        """
        self.state = ConnectionState.CLOSED
        proof = b""
        if isinstance(error, Superseded) and self._heard and not self.superseded_by:
            proof = proofs.superseded(self._greeted, self._heard, self._agreed)
        elif isinstance(error, OldCopy) and self._heard:
            proof = proofs.old_copy(self._greeted, self._heard, self._agreed)
        words = [text[: limits.REFUSAL_CHARS_MAX] for text in (error.message, error.hint)]
        said = ["no", error.number, words[0], proof, words[1], error.details.get(RETRY_AFTER)]
        said += [True] if error.details.get(BY_LEADER) else []
        return frame(cbor2.dumps(said))


class Dialer:
    """The side that dials. Feed `received()`; when it returns bytes, send them.

    `replica`: who is expected to answer at that address; None when it is not known yet. `derive`:
    the keys of the password for a salt and a count; who has one wants to be asked for it.
    """

    def __init__(
        self,
        hello: Hello,
        *,
        replica: Replica | None = None,
        keys: SecretKeys = NO_KEYS,
        derive: Derive | None = None,
    ) -> None:
        self.binding = b""
        """What names the channel below, as at the acceptor."""
        self._keys = keys
        self._heard = self._said = b""
        self.hello = hello
        self.greeting: Greeting | None = None
        self.state = ConnectionState.GREETING
        self.superseded_by = ""
        """The cluster that was made of ours, once the acceptor has proved that."""
        self.is_old_copy = False
        """The acceptor has proved that it says so of our directory."""
        self._descent = Descent.NONE
        self._expected = replica
        self._prover = None if derive is None else PasswordProver(derive)

    def received(self, payload: bytes) -> bytes | None:
        """Take the acceptor's next frame. Raises the acceptor's own error when it refuses us."""
        if self.greeting is None:
            return self._greeted(payload)
        return self._answered(payload)

    def _greeted(self, payload: bytes) -> bytes:
        fields = cbor.Fields(cbor.loads_array(payload), "greeting")
        word = fields.text()
        if word == SessionInput.NO:
            self._refused(fields)
        greeting = read_greeting(word, fields)
        mine = self.hello
        if mine.party is Party.PEER and mine.cluster is not None:
            words = (mine.features, greeting.cluster, greeting.features)
            self._descent = between(mine.cluster, *words)
            if self._descent is Descent.SIBLING:
                raise two_recoveries(mine.cluster, greeting.cluster)
        if self._descent is Descent.NONE:
            check_greeting(mine, greeting, replica=self._expected)
        self.state = next_state(self.state, SessionInput.GREETING)
        self.greeting = greeting
        framed = encode_hello(self.hello, greeted=payload, secret=self._shown(greeting))
        self._heard, self._said = payload, framed[LENGTH_SIZE:]
        return framed

    def _answered(self, payload: bytes) -> bytes | None:
        fields = cbor.Fields(cbor.loads_array(payload), "answer to hello")
        match fields.text():
            case SessionInput.OK:
                if self._descent is not Descent.NONE:
                    raise ProtocolError("a node of another generation agreed to a connection")
                after = next_state(self.state, SessionInput.OK)
                if self.hello.party is Party.PEER:
                    self._check_proof(fields.raw(proofs.PROOF_BYTES))
                elif self._prover is not None:
                    _check_signature(self._prover, fields)
                self.state = after
            case SessionInput.PROVE:
                self.state = next_state(self.state, SessionInput.PROVE)
                return self._proof(payload, fields)
            case SessionInput.NO:
                self._refused(fields)
            case word:
                raise ProtocolError(f"{word!r} is no answer to hello")
        return None

    def _proof(self, payload: bytes, fields: cbor.Fields) -> bytes:
        if self._prover is None:
            raise AccessDenied("the node wants a password, and none is given", hint=_LOG_IN)
        fields.raw(proofs.NONCE_BYTES)
        salt, iterations = fields.raw(), fields.uint()
        said = (self._heard, self._said, payload, self.binding)
        proof = self._prover.proof(salt, iterations, *said)
        return frame(cbor2.dumps([SessionInput.PROOF.value, proof]))

    def _check_proof(self, proof: bytes) -> None:
        assert self.greeting is not None
        has = proofs.FEATURE in self.greeting.features
        who, shown = self.greeting.name, self._shown(self.greeting)
        proofs.check_ok(self._heard, self._said, proof, shown, has=has, who=who)

    def _shown(self, greeting: Greeting) -> bytes:
        """Return the key that this side proves to the node that greeted it so."""
        return self._keys.toward(has=proofs.FEATURE in greeting.features)

    def _refused(self, fields: cbor.Fields) -> None:
        self.state = next_state(self.state, SessionInput.NO)
        number, message = fields.uint(), fields.text()
        proof = fields.raw(proofs.PROOF_BYTES) if fields.more() else b""
        hint = fields.text() if fields.more() else ""
        is_copy = number == OldCopy.number
        error = OldCopy(message, hint=hint) if is_copy else error_of(number, message, hint=hint)
        if fields.more() and fields.present():
            error.details[RETRY_AFTER] = fields.seconds()
        if fields.more() and fields.flag():
            error.details[BY_LEADER] = True
        if self.greeting is not None:
            self._believe(error, proof, self.greeting)
        raise error

    def _believe(self, error: QsyncError, proof: bytes, greeting: Greeting) -> None:
        """Check the proof of what we must act on. Raises AccessDenied, Superseded."""
        heard = (self._heard, self._said, proof, self._shown(greeting))
        has, who = proofs.FEATURE in greeting.features, greeting.name
        if isinstance(error, Superseded) and self._descent is Descent.DESCENDANT:
            proofs.check_superseded(*heard, has=has, who=who)
            self.superseded_by = greeting.cluster
            raise superseded_node(self.hello.name, greeting.cluster)
        if isinstance(error, OldCopy) and self.hello.party is Party.PEER:
            proofs.check_old_copy(*heard, has=has, who=who)
            self.is_old_copy = self._descent is Descent.NONE


def _check_signature(prover: PasswordProver, fields: cbor.Fields) -> None:
    """A node that does not know the user is not of the cluster that was meant."""
    if not prover.is_asked:
        raise AccessDenied(f"the node did not ask for the password: {NO_USERS}", hint=NO_USERS_FIX)
    if not prover.is_signed(fields.raw(scram.PROOF_BYTES)):
        raise AccessDenied("the node does not know the password that it asked for")


_OK: Final = frame(cbor2.dumps(["ok"]))
