"""The rights of users, compiled from the rows of `_user` and `_priv` at one index.

A part of the schema: it changes with the log, is taken back with it, and is never changed in place.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, final

from qsync.errors import AccessDenied
from qsync.rights import (
    EVERY,
    LOCAL_ADMIN,
    ROLES,
    Grant,
    GrantedOn,
    Need,
    Privilege,
)

USER, ROLE, KEY = "user", "role", "key"
"""What a row of `_user` is. The one KEY holds what salts of unknown users are derived from."""
KEY_NAME: Final = ""
NameOf = Callable[[str | int], str | None]
"""The name of a space that is given by name or number."""
KnownOperation = tuple[int, str | int]
"""What an operation is, and on which space, by name or number."""
_NOTHING: Final[frozenset[Privilege]] = frozenset()


@final
class HeldRights:
    """All rights of one user, roles unfolded."""

    __slots__ = ("begins", "everywhere", "named", "roles")

    def __init__(self) -> None:
        self.everywhere: frozenset[Privilege] = _NOTHING
        self.named: dict[str, frozenset[Privilege]] = {}
        self.begins: dict[str, frozenset[Privilege]] = {}
        """By what the names of spaces begin with."""
        self.roles: set[str] = set()

    def add(self, grant: Grant) -> None:
        """Add a grant, not that of a role."""
        if grant.kind is GrantedOn.UNIVERSE:
            self.everywhere |= grant.privileges
        elif grant.name.endswith(EVERY):
            begin = grant.name.removesuffix(EVERY)
            self.begins[begin] = self.begins.get(begin, _NOTHING) | grant.privileges
        else:
            self.named[grant.name] = self.named.get(grant.name, _NOTHING) | grant.privileges

    def on(self, space: str) -> frozenset[Privilege]:
        """Return the rights on the space of that name, apart from those on everything."""
        found = self.named.get(space, _NOTHING)
        for begin, privileges in self.begins.items():
            if space.startswith(begin):
                found |= privileges
        return found


@final
class Rights:
    """Users, roles and grants as of one index of the log. `missing` is the one judge."""

    __slots__ = ("_grants", "_held", "_known", "auth", "key", "roles")

    def __init__(
        self,
        auth: Mapping[str, Mapping[str, object]],
        roles: Iterable[str],
        grants: Iterable[Grant],
        key: bytes = b"",
    ) -> None:
        self.auth = auth
        """How each user may show who he is, by name."""
        self.roles = frozenset(roles)
        self.key = key
        self._grants: dict[str, list[Grant]] = {}
        for grant in grants:
            self._grants.setdefault(grant.grantee, []).append(grant)
        self._held: dict[str, HeldRights] = {}
        self._known: dict[str, set[KnownOperation]] = {}

    def missing(self, user: str, needs: Iterable[Need], name_of: NameOf) -> Need | None:
        """The first of these rights that the user does not have; None if he has all of them.

        A number that names no space is covered by what is held on the universe alone.
        """
        if user == LOCAL_ADMIN:
            return None
        if user not in self.auth:
            return Need(Privilege.SESSION)
        held = self.held(user)
        everywhere = held.everywhere
        for always in (Privilege.SESSION, Privilege.USAGE):
            if always not in everywhere:
                return Need(always)
        if Privilege.SUPER in everywhere:
            return None
        for need in needs:
            name = None if need.space is None else name_of(need.space)
            if name in SECRET_SPACES:
                return need
            if need.privilege in everywhere:
                continue
            if name is None or need.privilege not in held.on(name):
                return need
        return None

    def check(self, user: str, needs: Iterable[Need], name_of: NameOf) -> None:
        """Raises AccessDenied, which names the right and the object as the user named it."""
        missing = self.missing(user, needs, name_of)
        if missing is not None:
            raise denied(user, missing)

    def sees(self, user: str, space: str) -> bool:
        """Return whether the user may know of the space: any right on it suffices."""
        if user == LOCAL_ADMIN:
            return True
        held = self.held(user) if user in self.auth else HeldRights()
        everywhere = held.everywhere
        if Privilege.SUPER in everywhere or everywhere & _OF_SPACES:
            return True
        return bool(held.on(space))

    def held(self, name: str) -> HeldRights:
        """All that a user or role has, its roles' included."""
        found = self._held.get(name)
        if found is None:
            found = self._held[name] = self._unfolded(name)
        return found

    def known_of(self, user: str) -> set[KnownOperation]:
        """Operations of a user that passed the check, kept by the code that checked them.

        These rights are those of one schema, so numbers of spaces stand for one name each.
        """
        found = self._known.get(user)
        if found is None:
            found = self._known[user] = set()
        return found

    def knows(self, user: str, ops: Sequence[Sequence[object]]) -> bool:
        """Return whether all these operations of a user passed the check before."""
        known = self._known.get(user)
        if not known:
            return False
        try:
            for op in ops:
                if (op[0], op[1]) not in known:  # equal values are one operation, on one space
                    return False
        except (LookupError, TypeError):
            return False  # it names no space
        return True

    def grants_of(self, name: str) -> Sequence[Grant]:
        """Return what was granted to a user or role itself."""
        return self._grants.get(name, ())

    def _unfolded(self, name: str) -> HeldRights:
        found = HeldRights()
        waiting = [name]
        while waiting:
            one = waiting.pop()
            found.everywhere |= ROLES.get(one, _NOTHING)
            for grant in self._grants.get(one, ()):
                if grant.kind is not GrantedOn.ROLE:
                    found.add(grant)
                elif grant.name not in found.roles:
                    found.roles.add(grant.name)
                    waiting.append(grant.name)
        return found


def denied(user: str, need: Need) -> AccessDenied:
    """Return the error for a missing right. It does not show whether the object exists."""
    who = f"user {user!r}" if user else "a client that has not logged in"
    return AccessDenied(
        f"{who} lacks the right {need}",
        details={"user": user, "privilege": need.privilege.value, "space": need.space},
    )


def read(users: Iterable[Sequence[object]], grants: Iterable[Sequence[object]]) -> Rights:
    """The rights that rows of `_user` and `_priv` describe."""
    auth: dict[str, Mapping[str, object]] = {}
    roles: list[str] = []
    key = b""
    for name, kind, how, *_ in users:
        assert isinstance(name, str)
        assert isinstance(how, dict)
        if kind == USER:
            auth[name] = how
        elif kind == ROLE:
            roles.append(name)
        else:
            key = bytes(how["key"])
    return Rights(auth, roles, map(grant_of, grants), key)


def grant_of(row: Sequence[object]) -> Grant:
    """The grant of a stored row."""
    grantee, kind, object_, privileges, *_ = row
    assert isinstance(privileges, list)
    known = frozenset(Privilege(str(each)) for each in privileges)
    return Grant(str(grantee), GrantedOn(str(kind)), str(object_), known)


SECRET_SPACES: Final = frozenset({"_user", "_priv", "_session"})
"""Only who may do everything reads them as rows; `Verb.RIGHTS` tells the others what they may.

A client that knows the id of a session can ask for the outcomes of its writes and give them up.
"""
_OF_SPACES: Final = frozenset(
    {Privilege.READ, Privilege.WRITE, Privilege.CREATE, Privilege.ALTER, Privilege.DROP}
)
