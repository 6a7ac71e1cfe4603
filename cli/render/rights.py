"""What a user or a role may do, as `db.users` tells it."""

from collections.abc import Mapping, Sequence
from typing import Final

from cli.printable import one_line
from qsync.data.grants import USER, Rights, grant_of
from qsync.data.schema import known_names
from qsync.rights import EVERY, Grant, GrantedOn, Need, Privilege

_ALONE: Final = (
    "; no other user may do everything: only the owner of a node's directory can do so by the "
    "socket there (`qsync help manage-users`)"
)

_PLAIN: Final = (
    "; without TLS no certificate logs in, so only the owner of a node's directory comes in, by "
    "the socket there (`qsync help manage-users`)"
)
_CERTIFICATE: Final = "certificate"


def in_words(one: object) -> str:
    """The privileges of a user or role, in a line."""
    if not isinstance(one, dict) or not isinstance(one.get("rights"), dict):
        return "nothing"
    rights = one["rights"]
    parts = [", ".join(rights.get("universe", []))]
    parts += [f"{space}: {', '.join(found)}" for space, found in rights.get("spaces", {}).items()]
    if rights.get("roles"):
        parts.append(f"by roles {', '.join(rights['roles'])}")
    return "; ".join(part for part in parts if part) or "nothing"


def words_if_alone(
    known: Mapping[str, object],
    *,
    dropped: str = "",
    deprived: Grant | None = None,
    refused: str = "",
) -> str:
    """What to say of a change after which no user may do everything; empty if one still may.

    `known`: all users and roles. `dropped`: one of them. `deprived`: what somebody loses.
    `refused`: whose certificate logs in no more. Who cannot log in at all does not count.
    """
    users: list[str] = []
    left: list[Grant] = []
    for name, one in known.items():
        if isinstance(one, dict) and name != dropped:
            ways = [way for way in _ways(one) if (name, way) != (refused, _CERTIFICATE)]
            users += [name] if one.get("kind") == USER and ways else []
            left += map(grant_of, _rows(name, one))
    roles = {name for name in known if name != dropped}
    left = [each for each in left if each.kind is not GrantedOn.ROLE or each.name in roles]
    if deprived is not None:
        left = [
            each._replace(privileges=each.privileges - deprived.privileges)
            if each[:3] == deprived[:3]
            else each
            for each in left
        ]
    rights = Rights({name: {} for name in users}, (), [each for each in left if each.privileges])
    wanted = [Need(Privilege.SUPER)]
    able = any(rights.missing(name, wanted, lambda _: None) is None for name in users)
    return "" if able else _ALONE


def words_if_plain(status: Mapping[str, object]) -> str:
    """What to say of a first user who logs in by certificate alone; empty where nodes use TLS."""
    tls = status.get("tls")
    over_tls = isinstance(tls, dict) and tls.get("on")
    return "" if over_tls else _PLAIN


def words_of_consumers(status: Mapping[str, object], user: str) -> str:
    """Name the consumers of the log that go to `admin` with a user who is dropped."""
    import msgspec  # noqa: PLC0415 - slow to import

    from qsync.status.storage import GcStatus  # noqa: PLC0415 - slow to import

    there = msgspec.convert(status["gc"], GcStatus).consumers
    names = ", ".join(one_line(each.name) for each in there if each.owner == user)
    return f"; consumers of the log that belong to `admin` then: {names}" if names else ""


def universal_grant(grantee: str, privileges: Sequence[str], *, role: str | None) -> Grant:
    """A role, or privileges on the universe. Unknown ones are left to the node to refuse."""
    if role is not None:
        return Grant(grantee, GrantedOn.ROLE, role, frozenset({Privilege.USAGE}))
    named = frozenset(each for each in Privilege if each in privileges)
    return Grant(grantee, GrantedOn.UNIVERSE, "", named)


def _ways(one: Mapping[str, object]) -> list[str]:
    """How a user logs in: by password, certificate or both."""
    found = one.get("logs_in_by")
    return [str(way) for way in found] if isinstance(found, list) else []


def _rows(name: str, one: Mapping[str, object]) -> list[list[object]]:
    """What was granted, as rows of `_priv`."""
    granted = one.get("granted")
    return [[name, *each] for each in granted] if isinstance(granted, list) else []


EVERY_CLIENT = (
    "every client must log in, with a password or a certificate of a user's name (others let "
    "nobody in any more)"
)
"""What holds from the first user on."""


def creation_in_words(name: str, *, first: bool, known: bool) -> str:
    """What `user create` would do."""
    if known:
        return f"user {name} is there already: nothing would be done"
    if first:
        return (
            f"user {name} would be created, the first one: with role super, and from then on "
            f"{EVERY_CLIENT}"
        )
    return f"user {name} would be created"


def names_nothing(granted: str, known: Sequence[str]) -> str | None:
    """A note on a grant whose name no space or sequence has. `known`: all names."""
    begin = granted.removesuffix(EVERY)
    if granted in known or (begin != granted and any(each.startswith(begin) for each in known)):
        return None
    hint = known_names(granted, [each for each in known if not each.startswith("_")])
    called = f"named {granted}" if begin == granted else f"whose name begins with {begin}"
    return f"there is no space or sequence {called}: the right counts once there is one ({hint})"
