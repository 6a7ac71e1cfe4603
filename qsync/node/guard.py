"""Whether a client may ask what it asks, judged where the request arrives.

What goes on after that, such as a long scan or a feed, is judged again (`taken_back`).

The work of one look-up where a cluster has no users, and of a few where the same was asked before
on the connection (`allowed`). Writes are judged once more where they are executed, by what is
pending as well (`qsync.data.needs`).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

from qsync import features
from qsync.data.draft import SCHEMA_CHANGES_MAX
from qsync.data.grants import USER, Rights, denied
from qsync.data.needs import of_operations
from qsync.data.schema import Schema
from qsync.errors import AccessDenied, QsyncError, Rebuilding, StoreError, TooLarge, WrongOperation
from qsync.node.auditing import AuditTrail
from qsync.node.connection import Connection
from qsync.node.data_operations import is_of_data
from qsync.rights import LOCAL_ADMIN, ROLES, Need, Privilege
from qsync.wire import verb_rights, verbs
from qsync.wire.verbs import EVERYBODY, RightsRequest, Verb

if TYPE_CHECKING:
    from qsync.replica import Replica

UNKNOWN: Final = Rights({}, (), ())
"""While the rows are rebuilt the users in them are unknown."""
PERHAPS: Final = Rights({}, (), ())
"""While they are taken from a snapshot, and this node knew of no users, there may be some in it."""
_OF_THE_NODE: Final = frozenset(
    {
        *(Verb.PING, Verb.STATUS, Verb.INFO, Verb.WATCH, Verb.LOST),
        *(Verb.OPTIONS, Verb.FAULT, Verb.RELOAD, Verb.WRITE),
    }
)
"""What a node in that state answers: nothing of it tells of rows, of the log or of users, and a
write is sent to the leader."""


class Noting(Protocol):
    """The owner of a node's audit trail."""

    audit: AuditTrail


class OpenConnections(Protocol):
    """The part of a reactor that this module uses."""

    def connections(self) -> list[Connection]:
        """Every open connection."""

    def close(self, connection: Connection, why: str) -> None:
        """Close one connection."""


def end_sessions(rights: Rights | None, reactor: OpenConnections) -> None:
    """Close the connections of clients whose users may not be here any more."""
    if rights is None or rights is PERHAPS:
        return
    for connection in reactor.connections():
        turn = connection.turn
        if connection.urgent:
            continue
        acts = [Need(Privilege.SUPER)] if turn.user != turn.login else []
        if not may_stay(rights, turn.login, turn.password, acts):
            reactor.close(connection, "its user may not log in so any more")


def rights_of(replica: "Replica") -> Rights | None:
    """Return the confirmed rights; None where the cluster has no users."""
    found, lost = replica.raw.schemas.shown.rights, replica.lost
    if lost is None:
        return found
    if found is not None or features.USERS in features.enabled(replica.settings):
        return UNKNOWN
    return None if lost.snapshot is None else PERHAPS


def are_unknown(rights: Rights | None) -> bool:
    """Return whether this node cannot know now which users there are."""
    return rights is UNKNOWN or rights is PERHAPS


def is_of_leader(replica: "Replica") -> bool:
    """Whether those rights are the leader's: no node has confirmed any that it does not know."""
    leader = replica.machine.leader
    return leader is not None and leader.established


def refusal(
    replica: "Replica",
    rights: Rights,
    connection: Connection,
    request: verbs.Request,
    noting: Noting | None = None,
) -> QsyncError | None:
    """Return why a request is refused; None if it is not. `noting`: the owner of the trail."""
    turn = connection.turn
    if turn.allowed.covers(rights, turn.user, request):
        return None
    return _judged(replica, rights, connection, request, None if noting is None else noting.audit)


def _judged(
    replica: "Replica",
    rights: Rights,
    connection: Connection,
    request: verbs.Request,
    audit: AuditTrail | None,
) -> QsyncError | None:
    """As `refusal`, of a request that is not known to be allowed."""
    turn = connection.turn
    user = turn.user
    if are_unknown(rights) and user != LOCAL_ADMIN:
        if rights is PERHAPS and verb_rights.verb_of(request) in _OF_THE_NODE:
            return None
        return Rebuilding("the rows of users and privileges are being rebuilt")
    try:
        needs = verb_rights.needs_of(user, request)
        missing = rights.missing(user, needs, replica.raw.schemas.shown.name_of)
        if missing is not None:
            if audit is not None:
                audit.note_denied(connection, str(missing))
            return denied(user, missing)
        if audit is not None:
            by_right = _is_by_right(rights, replica, user, request)
            audit.note_request(connection, request, by_right=by_right)
            turn.allowed.add(request)
    except (AccessDenied, StoreError, TooLarge) as error:
        return error
    return None


def noted(error: AccessDenied, connection: Connection, noting: Noting) -> QsyncError:
    """Write down that a write was denied where it was executed; return what its client hears."""
    privilege, space = error.details.get("privilege"), error.details.get("space")
    missing = error.message  # details of a recorded refusal are left out where they are long
    if isinstance(privilege, str) and (space is None or isinstance(space, str | int)):
        missing = str(Need(Privilege(privilege), space))
        consumer = error.details.get("consumer")
        if consumer is not None:
            missing += f" for consumer {consumer!r} of {error.details.get('owner')!r}"
    try:
        noting.audit.note_denied(connection, missing)
    except StoreError as unwritten:
        return unwritten
    return error


def taken_back(
    replica: "Replica", connection: Connection, request: verbs.Request
) -> QsyncError | None:
    """Return why a request that was allowed when it arrived may not go on; None if it may."""
    rights = rights_of(replica)
    return None if rights is None else refusal(replica, rights, connection, request)


def _is_by_right(rights: Rights, replica: "Replica", user: str, request: verbs.Request) -> bool:
    """Return false of changes that everybody may make or, by what is confirmed, this user may not.

    What a write takes is judged where it is executed, so anybody's comes this far.
    """
    if type(request) is not verbs.WriteRequest:
        return True
    changes = [op for op in request.ops if not is_of_data(op)][: SCHEMA_CHANGES_MAX + 1]
    needs = list(of_operations(user, changes))
    if changes and all(each.privilege is Privilege.SESSION for each in needs):
        return False
    return rights.missing(user, needs, replica.raw.schemas.shown.name_of) is None


def may_stay(rights: Rights, user: str, password: bytes, acts: Sequence[Need] = ()) -> bool:
    """Return whether the connection of a user may stay; one without a user may not.

    What it logged in with must still be good. `password`: what that was checked by; empty where a
    certificate was shown. `acts`: what it takes to be here as another.
    """
    if rights.missing(user, acts, lambda _: None) is not None:
        return False
    auth = rights.auth.get(user, {})
    if user == LOCAL_ADMIN:
        return True
    return auth.get("stored") == password if password else bool(auth.get("certificate"))


def described(shape: Schema, user: str) -> dict[str, object]:
    """Return the answer to SCHEMA: the spaces that the user may know of."""
    rights = shape.rights
    return {
        each.name: each.describe()
        for each in shape.spaces
        if rights is None or rights.sees(user, each.name)
    }


def rights_answer(rights: Rights | None, user: str, request: RightsRequest) -> dict[str, object]:
    """Return the answer to RIGHTS. Raises WrongOperation for an unknown name."""
    if rights is None:
        return {"user": None, "users": False}
    about: dict[str, object] = {"user": user, "users": True}
    if request.name == EVERYBODY:
        names = [*sorted(rights.auth), *sorted(rights.roles), *ROLES]
        return about | {"all": {name: _one(rights, name) for name in names}}
    name = user if request.name is None else request.name
    if name == LOCAL_ADMIN:
        everything = {"universe": [Privilege.SUPER.value], "roles": [], "spaces": {}}
        return about | {"name": name, "kind": USER, "rights": everything}
    if name not in rights.auth and name not in rights.roles and name not in ROLES:
        raise WrongOperation(f"there is no user or role {name!r}")
    return about | {"name": name, **_one(rights, name)}


def _one(rights: Rights, name: str) -> dict[str, object]:
    held = rights.held(name)
    spaces = held.named | {f"{begin}*": found for begin, found in held.begins.items()}
    auth = rights.auth.get(name, {})
    ways = [
        way
        for way, key in (("password", "stored"), ("certificate", "certificate"))
        if auth.get(key)
    ]
    return {
        "kind": USER if name in rights.auth else "role",
        "logs_in_by": ways,
        "granted": [each.row()[1:] for each in rights.grants_of(name)],
        "rights": {
            "universe": sorted(held.everywhere),
            "roles": sorted(held.roles),
            "spaces": {space: sorted(found) for space, found in sorted(spaces.items())},
        },
    }
