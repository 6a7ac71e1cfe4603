"""Users, roles and grants: rows of `_user` and `_priv`, changed by operations of their own."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from qsync import features
from qsync.data import consumers, schema, settings, tuples
from qsync.data.draft import EffectDraft
from qsync.data.grants import KEY, KEY_NAME, ROLE, USER, Rights, grant_of
from qsync.data.operation_kinds import Op
from qsync.data.schema import SpaceDefinition
from qsync.errors import Overloaded, ProtocolError, WrongOperation
from qsync.passwords import ITERATIONS_MAX, ITERATIONS_MIN, KEY_BYTES, SALT_BYTES_MAX
from qsync.rights import (
    EVERY,
    GRANTS_MAX,
    NAME_CHARACTERS_MAX,
    NEWCOMER,
    ON_SPACES,
    RESERVED,
    ROLES,
    USERS_MAX,
    Grant,
    GrantedOn,
    Privilege,
)

CERTIFICATE: Final = "certificate"
PASSWORD: Final = ("salt", "iterations", "stored", "server")
"""The stored form of a password, SCRAM-SHA-256 (RFC 5802, RFC 7677): useless for a login."""


def enable(draft: EffectDraft, key: object) -> None:
    """Enable users: rights are checked from here on, for good. Does nothing if they are.

    `key`: 32 random bytes, from which the salts of unknown users are derived.
    """
    draft.sync = True
    if draft.schema.rights is not None:
        return
    if not isinstance(key, bytes) or len(key) != KEY_BYTES:
        raise ProtocolError(f"the key of the users is {KEY_BYTES} bytes")
    enabled = features.enabled(draft.schema.settings) | {features.USERS}
    settings.change(draft, {features.SETTING: features.text_of(enabled)})
    _put(draft, schema.USER, [KEY_NAME, KEY, {"key": key}])


def create_user(draft: EffectDraft, name: object, options: object) -> None:
    """A user. `options`: `password` (see PASSWORD), `certificate`, `if_not_exists`.

    The first user of a cluster is granted the role `super`, since one user needs it.
    """
    rights, label = _rights(draft), _new_name(name)
    given = _options(options, {"password", CERTIFICATE, "if_not_exists"})
    if _is_there(draft, label, given):
        return
    _check_room(rights)
    _put(draft, schema.USER, [label, USER, _auth(given, {})])
    _put(draft, schema.PRIV, Grant(label, GrantedOn.UNIVERSE, "", NEWCOMER).row())
    if not rights.auth:
        first = Grant(label, GrantedOn.ROLE, "super", frozenset({Privilege.USAGE}))
        _put(draft, schema.PRIV, first.row())


def alter_user(draft: EffectDraft, name: object, options: object) -> None:
    """Change the password, and whether a certificate of that name logs the user in."""
    rights, label = _rights(draft), _name(name)
    before = rights.auth.get(label)
    if before is None:
        raise WrongOperation(f"there is no user {label!r}")
    given = _options(options, {"password", CERTIFICATE})
    _put(draft, schema.USER, [label, USER, _auth(given, before)])


def create_role(draft: EffectDraft, name: object, options: object) -> None:
    """A role: a name to grant things to, and to grant to users and other roles."""
    rights, label = _rights(draft), _new_name(name)
    if _is_there(draft, label, _options(options, {"if_not_exists"})):
        return
    _check_room(rights)
    _put(draft, schema.USER, [label, ROLE, {}])


def drop_user(draft: EffectDraft, name: object, options: object) -> None:
    """The user goes, with all that he was granted. His consumers of the log stay, as `admin`'s."""
    _drop(draft, name, options, what="user")


def drop_role(draft: EffectDraft, name: object, options: object) -> None:
    """The role goes, also from those that it was granted to."""
    _drop(draft, name, options, what="role")


def grant(
    draft: EffectDraft, grantee: object, privileges: object, kind: object, object_: object
) -> bytes:
    """Grant privileges on an object, beside those that are there. The row."""
    found = _grant(_rights(draft), grantee, privileges, kind, object_)
    old = _granted(draft, found)
    if old is None and _count(draft, schema.PRIV) >= GRANTS_MAX:
        raise Overloaded(f"there are {GRANTS_MAX} grants already, the limit")
    both = found.privileges | (old.privileges if old else frozenset())
    return _put(draft, schema.PRIV, found._replace(privileges=both).row())


def revoke(
    draft: EffectDraft, grantee: object, privileges: object, kind: object, object_: object
) -> bytes | None:
    """Take privileges back that were granted on that very object. What is left; None if nothing.

    Privileges from a role or a wider object stay. Raises WrongOperation if none was granted.
    """
    gone = _grant(_rights(draft), grantee, privileges, kind, object_)
    old = _granted(draft, gone)
    if old is None or not old.privileges & gone.privileges:
        names = ", ".join(sorted(gone.privileges))
        raise WrongOperation(f"{gone.grantee!r} was not granted {names} on {_words(gone)}")
    left = old._replace(privileges=old.privileges - gone.privileges)
    if left.privileges:
        return _put(draft, schema.PRIV, left.row())
    _delete(draft, schema.PRIV, left.row()[:3])
    return None


def _drop(draft: EffectDraft, name: object, options: object, *, what: str) -> None:
    rights, label = _rights(draft), _name(name)
    given = _options(options, {"if_exists"})
    there = rights.auth if what == USER else rights.roles
    if label not in there:
        _check_free(label)
        if given.get("if_exists"):
            draft.sync = True
            return
        raise WrongOperation(f"there is no {what} {label!r}")
    space = draft.space(schema.PRIV)
    for _, data in list(draft.scan(space.primary.prefix, space.primary.end)):
        one = grant_of(tuples.stored(data))
        of_role = one.kind is GrantedOn.ROLE and one.name == label
        if one.grantee == label or of_role:
            _delete(draft, schema.PRIV, one.row()[:3])
    if what == USER:
        consumers.hand_over(draft, label)
    _delete(draft, schema.USER, [label])


def _rights(draft: EffectDraft) -> Rights:
    if draft.schema.rights is None:
        raise WrongOperation(
            "this cluster has no users yet", hint="`qsync user create NAME` makes the first one"
        )
    return draft.schema.rights


def _grant(
    rights: Rights, grantee: object, privileges: object, kind: object, object_: object
) -> Grant:
    """A grant as it was asked for, checked."""
    who = _name(grantee)
    if who not in rights.auth and who not in rights.roles:
        _check_free(who)
        raise WrongOperation(f"there is no user or role {who!r} to grant to")
    try:
        on = GrantedOn(str(kind))
    except ValueError:
        known = ", ".join(GrantedOn)
        raise WrongOperation(f"rights are granted on {known}, not on {kind!r}") from None
    target = _object(rights, who, on, object_)
    wanted = _privileges(privileges)
    if on is GrantedOn.ROLE:
        wanted = frozenset({Privilege.USAGE})
    elif on is GrantedOn.SPACE and not wanted <= ON_SPACES:
        wrong = ", ".join(sorted(wanted - ON_SPACES))
        raise WrongOperation(f"{wrong}: granted on the universe only")
    return Grant(who, on, target, wanted)


def _object(rights: Rights, who: str, on: GrantedOn, name: object) -> str:
    if on is GrantedOn.UNIVERSE:
        return ""
    if not isinstance(name, str) or not 0 < len(name) <= schema.NAME_CHARACTERS_MAX:
        raise WrongOperation(f"a {on.value} has a name, not {name!r}")
    if on is GrantedOn.SPACE:
        if name == EVERY or EVERY in name.removesuffix(EVERY):
            raise WrongOperation(f"{name!r}: a `*` stands at the end, behind how names begin")
        return name
    if name not in rights.roles and name not in ROLES:
        raise WrongOperation(f"there is no role {name!r}")
    if name == who or who in rights.held(name).roles:
        raise WrongOperation(f"role {name!r} has {who!r} itself")
    return name


def _privileges(given: object) -> frozenset[Privilege]:
    words = given.split(",") if isinstance(given, str) else given
    if not isinstance(words, list | tuple):
        raise WrongOperation("privileges are a list of names, or a text with commas")
    try:
        found = frozenset(Privilege(name := str(each).strip()) for each in words)
    except ValueError:
        known = ", ".join(Privilege)
        raise WrongOperation(f"there is no privilege {name!r}; there are {known}") from None
    if not found:
        raise WrongOperation("no privilege is named")
    return found


def _auth(given: Mapping[str, object], before: Mapping[str, object]) -> dict[str, object]:
    found: dict[str, object] = dict(before) if before else {CERTIFICATE: True}
    if CERTIFICATE in given:
        found[CERTIFICATE] = bool(given[CERTIFICATE])
    password = given.get("password")
    if password is None:
        return found
    match password:
        case {"salt": bytes(s), "iterations": int(n), "stored": bytes(a), "server": bytes(b)}:
            if (
                0 < len(s) <= SALT_BYTES_MAX
                and ITERATIONS_MIN <= n <= ITERATIONS_MAX
                and len(a) == len(b) == KEY_BYTES
            ):
                return found | {"salt": s, "iterations": n, "stored": a, "server": b}
        case _:
            pass
    raise ProtocolError(
        f"a password comes as salt, iterations ({ITERATIONS_MIN} to {ITERATIONS_MAX}) and two keys"
    )


def _is_there(draft: EffectDraft, name: str, given: Mapping[str, object]) -> bool:
    """True if it need not be made. Raises WrongOperation if it must not be."""
    rights = _rights(draft)
    if name not in rights.auth and name not in rights.roles:
        return False
    if given.get("if_not_exists"):
        draft.sync = True
        return True
    raise WrongOperation(f"there is a user or role {name!r}")


def _check_room(rights: Rights) -> None:
    if len(rights.auth) + len(rights.roles) >= USERS_MAX:
        raise Overloaded(f"there are {USERS_MAX} users and roles already, the limit")


def _name(name: object) -> str:
    if isinstance(name, str) and 0 < len(name) <= NAME_CHARACTERS_MAX and name.isprintable():
        return name
    raise WrongOperation(f"a name has 1 to {NAME_CHARACTERS_MAX} printable characters")


def _new_name(name: object) -> str:
    label = _name(name)
    _check_free(label)
    return label


def _check_free(name: str) -> None:
    """Raises WrongOperation for a name that is not the cluster's to give."""
    if name in RESERVED:
        raise WrongOperation(f"{name!r} has a meaning of its own and cannot be made or changed")


def _options(options: object, known: set[str]) -> Mapping[str, object]:
    if options is None:
        return {}
    if not isinstance(options, dict):
        raise ProtocolError("options come as a map")
    for option in options:
        if option not in known:
            raise WrongOperation(
                f"there is no option {option!r}; known: {', '.join(sorted(known))}"
            )
    return options


def _granted(draft: EffectDraft, one: Grant) -> Grant | None:
    space = draft.space(schema.PRIV)
    row = draft.get(space.primary.key(one.row()[:3], whole=True))
    return None if row is None else grant_of(tuples.stored(row))


def _words(one: Grant) -> str:
    return one.kind.value if one.kind is GrantedOn.UNIVERSE else f"{one.kind.value} {one.name!r}"


def _count(draft: EffectDraft, space_id: int) -> int:
    space: SpaceDefinition = draft.space(space_id)
    rows: Iterable[object] = draft.scan(space.primary.prefix, space.primary.end)
    return sum(1 for _ in rows)


def _put(draft: EffectDraft, space_id: int, fields: list[object]) -> bytes:
    space = draft.space(space_id)
    row = tuples.encode(fields)
    space.check(fields)
    key = space.primary.prefix + space.primary.extract(fields)
    draft.put(space, key, draft.get(key), row)
    return row


def _delete(draft: EffectDraft, space_id: int, key: list[object]) -> None:
    space = draft.space(space_id)
    at = space.primary.key(key, whole=True)
    draft.put(space, at, draft.get(at), None)


OPERATIONS: Final[dict[int, tuple[int, Callable[..., bytes | None]]]] = {
    Op.ENABLE_USERS: (1, enable),
    Op.CREATE_USER: (2, create_user),
    Op.ALTER_USER: (2, alter_user),
    Op.DROP_USER: (2, drop_user),
    Op.CREATE_ROLE: (2, create_role),
    Op.DROP_ROLE: (2, drop_role),
    Op.GRANT: (4, grant),
    Op.REVOKE: (4, revoke),
}
"""Each with how many arguments it takes."""
