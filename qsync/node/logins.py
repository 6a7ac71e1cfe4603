"""Logins of clients: passwords where the cluster has users, with delays after failures.

Nothing here waits. Who failed too often is refused until its time has come, by name and by address,
so that neither many names from one place nor one name from many places can be tried at speed.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from qsync.config.sections import ClusterUsers
from qsync.data.grants import Rights, denied
from qsync.error_details import RETRY_AFTER
from qsync.errors import AccessDenied, Overloaded, Unavailable
from qsync.node.auditing import AuditTrail
from qsync.node.connection import Connection
from qsync.node.guard import PERHAPS, are_unknown
from qsync.node.origins import origin_of
from qsync.rights import LOCAL_ADMIN, RESERVED, Need, Privilege
from qsync.tls.names import Bearer
from qsync.wire import limits, proofs, scram
from qsync.wire.scram import PasswordKeys
from qsync.wire.session import Acceptor, Hello, Party

FAILURES_FREE: Final = 5
"""Failures that cost nothing, of a name or an address."""
DELAY_S: Final = 1.0
"""After the next one; each one more doubles it."""
DELAY_S_MAX: Final = limits.PAUSE_S_MAX
FORGIVEN_S: Final = 900.0
"""How long failures are remembered."""
KEPT_MAX: Final = 10_000
"""Names and addresses that are remembered; the oldest go first."""
WRONG: Final = "user or password is wrong"


class _Failures(NamedTuple):
    times: int
    at: float


class LoginDelays:
    """Failures by name and by address, and how long each has to wait. Callers pass the time."""

    def __init__(self) -> None:
        self._failures: dict[str, _Failures] = {}

    def wait(self, keys: tuple[str, ...], now: float) -> float:
        """Return how many seconds are left until one of these may try again; 0: now."""
        return max(0.0, *(self._until(key, now) - now for key in keys))

    def failed(self, keys: tuple[str, ...], now: float) -> None:
        """Note a failed login."""
        for key in keys:
            former = self._failures.pop(key, _Failures(0, now))
            count = 1 if now - former.at > FORGIVEN_S else former.times + 1
            self._failures[key] = _Failures(count, now)
        while len(self._failures) > KEPT_MAX:
            del self._failures[next(iter(self._failures))]

    def succeeded(self, name: str) -> None:
        """Forget the failures of the name. Those of its address stay: it may try other names."""
        self._failures.pop(name, None)

    def _until(self, key: str, now: float) -> float:
        count, at = self._failures.get(key, _Failures(0, now))
        if count < FAILURES_FREE or now - at > FORGIVEN_S:
            return now
        return at + min(DELAY_S_MAX, DELAY_S * 2.0 ** min(count - FAILURES_FREE, 32))


class LoginChallenge(NamedTuple):
    """A challenge without an answer yet: for which user, and what checks the proof."""

    user: str
    keys: PasswordKeys
    address: str


class Logins:
    """Checks the hellos of clients and their proofs. `rights`: those confirmed here."""

    def __init__(
        self,
        rights: Callable[[], Rights | None],
        *,
        secret: Callable[[int], bytes],
        now: Callable[[], float],
        audit: AuditTrail,
        users: ClusterUsers = ClusterUsers.OPTIONAL,
    ) -> None:
        self.delays = LoginDelays()
        self.open: dict[Connection, LoginChallenge] = {}
        """Of those who have been asked and have not proven it yet."""
        self._audit = audit
        self._rights = rights
        self._secret = secret
        self._now = now
        self._users = users

    def challenge_of(self, hello: Hello, address: str) -> LoginChallenge | None:
        """Return what a client has to prove; None where there are no users. Raises AccessDenied.

        Unavailable where users are required and none is known; Overloaded, with `retry_after`, when
        there were too many failures.
        """
        rights = None if self._is_asked_of_node(hello.user) else self._known_rights()
        if rights is None:
            return None
        user = hello.user
        if not user or len(hello.nonce) != proofs.NONCE_BYTES:
            raise AccessDenied(
                "this cluster has users: log in",
                hint="QSYNC_USER and QSYNC_PASSWORD, or qsync.connect(..., user=, password=)",
            )
        self._check_pace(user, address)
        found = _keys_of(rights, user)
        decoy = scram.decoy(rights.key, user)  # computed for every name: the same work for all
        keys = found or decoy
        return LoginChallenge(user, keys, address)

    def ask(self, connection: Connection, acceptor: Acceptor, hello: Hello) -> bytes | None:
        """Return the frame that asks a client for its password; None where it needs none.

        The kernel has identified the owner of the directory, TLS the bearer of a certificate.
        Raises as `challenge_of` and `certify` do.
        """
        if hello.party is Party.PEER or connection.turn.user:
            return None
        name, address = connection.identity, connection.turn.address
        if name is not None and name.bearer is Bearer.USER and not hello.user:
            self.certify(name.name, address)
            # Who comes through the socket is called so, and he alone: no certificate makes him.
            connection.turn.user = "" if name.name == LOCAL_ADMIN else name.name
            return None
        asked = self.challenge_of(hello, address)
        if asked is None:
            return None
        self.open[connection] = asked
        return acceptor.challenge(asked.keys, self._secret(proofs.NONCE_BYTES))

    def hear_proof(self, connection: Connection, acceptor: Acceptor, payload: bytes) -> None:
        """Check the client's proof. Raises AccessDenied if it is wrong."""
        asked = self.open.pop(connection)
        self.judge(asked, proven=acceptor.proven(payload, asked.keys))
        connection.turn.user = asked.user
        connection.turn.password = asked.keys.stored

    def act(self, connection: Connection, hello: Hello) -> None:
        """Change the user that a client acts as. Raises AccessDenied if it may not be that user.

        To act as another takes the right to everything, as Tarantool's `box.session.su` does.
        """
        turn, wanted = connection.turn, hello.acting
        turn.login = turn.user
        if not wanted or wanted == turn.user:
            return
        rights = self._known_rights()
        if rights is None:
            raise AccessDenied("this cluster has no users to act as")
        self._check_right(rights, turn.user, turn.address, Privilege.SUPER)
        if wanted not in rights.auth:
            raise AccessDenied(f"there is no user {wanted!r} to act as")
        turn.user = wanted
        self._audit.note_login(wanted, turn.address, by=turn.login)

    def judge(self, asked: LoginChallenge, *, proven: bool) -> None:
        """Check a proof. Raises AccessDenied, always in the same words; Overloaded.

        A client with many challenges at once has one guess for each, and others of them may
        have failed meanwhile: Overloaded then, whatever was proven.
        """
        self._check_pace(asked.user, asked.address)
        rights = self._known_rights()
        # As of now: who was asked before a change of the password may answer after it.
        kept = None if rights is None else _keys_of(rights, asked.user)
        if not proven or rights is None or kept != asked.keys:
            self.delays.failed(_keys(asked.user, asked.address), self._now())
            self._audit.note_failure(asked.user, asked.address, WRONG)
            raise AccessDenied(WRONG)
        self.delays.succeeded(_by_name(asked.user))
        self._check_right(rights, asked.user, asked.address, Privilege.SESSION)
        self._audit.note_login(asked.user, asked.address)

    def certify(self, user: str, address: str) -> None:
        """Log in the user of a certificate. Raises AccessDenied if it may not log in that way.

        Where there are no users it is as good as any other.
        """
        rights = None if self._is_asked_of_node(None) else self._known_rights()
        if rights is None:
            return
        if not rights.auth.get(user, {}).get("certificate"):
            self._audit.note_failure(user, address, "certificate")
            hint = f"`qsync user create {user}` makes a user, and "
            hint += f"`qsync user certificate {user} --allow` lets one log in so"
            if user in RESERVED:
                hint = "no user can be called so: `qsync cert client` makes one for another name"
            raise AccessDenied(f"no user {user!r} logs in by certificate here", hint=hint)
        self._check_right(rights, user, address, Privilege.SESSION)
        self._audit.note_login(user, address)

    def _check_right(self, rights: Rights, user: str, address: str, wanted: Privilege) -> None:
        """Check a right that a login takes. Raises AccessDenied; the failure is in the trail."""
        missing = rights.missing(user, [Need(wanted)], lambda _: None)
        if missing is not None:
            self._audit.note_failure(user, address, str(missing), is_known=True)
            raise denied(user, missing)

    def _check_pace(self, user: str, address: str) -> None:
        wait = self.delays.wait(_keys(user, address), self._now())
        if wait > 0:
            raise Overloaded(
                f"too many logins failed; the next one may come in {wait:.1f} s",
                details={RETRY_AFTER: wait},
            )

    def _is_asked_of_node(self, user: str | None) -> bool:
        """Return whether a client gets in without a login, to ask for no more than the status."""
        return not user and self._rights() is PERHAPS and self._users is ClusterUsers.OPTIONAL

    def _known_rights(self) -> Rights | None:
        """Return the known rights. Raises Unavailable where users are required and none are known.

        No user hears "wrong password" while that is not known.

        A node that never had the rows of users knows of none, whatever its cluster has.
        """
        rights = self._rights()
        if rights is None and self._users is ClusterUsers.REQUIRED:
            raise Unavailable(
                "this node has no users yet, and lets in only its owner",
                hint="ask another member; the owner makes the first user by qsync.sock in its"
                " directory",
            )
        if are_unknown(rights):
            raise Unavailable(
                "this node rebuilds its rows, and does not know its users until that is done",
                hint="ask another member",
            )
        return rights


def _by_name(user: str) -> str:
    return f"user {user}"


def _keys(user: str, address: str) -> tuple[str, ...]:
    return _by_name(user), f"address {origin_of(address)}"


def _keys_of(rights: Rights, user: str) -> PasswordKeys | None:
    match rights.auth.get(user):
        case {"salt": bytes(s), "iterations": int(n), "stored": bytes(a), "server": bytes(b)}:
            return PasswordKeys(s, n, a, b)
        case _:
            return None
