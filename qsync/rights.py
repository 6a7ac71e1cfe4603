"""What users may do: privileges, what they are granted on, and the roles that are there from birth.

Users, roles and grants are rows of `_user` and `_priv` (`qsync.data.users`); here are their words.
"""

from enum import StrEnum
from typing import Final, NamedTuple

USERS_MAX: Final = 1000
"""Users and roles of one cluster together; those that are there from birth are not counted."""
GRANTS_MAX: Final = 4000
"""Rows of `_priv`: what one grantee has on one object is one row."""
NAME_CHARACTERS_MAX: Final = 64
LOCAL_ADMIN: Final = "admin"
"""Who comes through the socket in the node's own directory: may do everything, has no password."""
EVERY: Final = "*"
"""Ends the name of an object that stands for all spaces whose names begin so."""


class Privilege(StrEnum):
    """A right. The first seven are on spaces or on the universe, all others on the universe."""

    READ = "read"
    WRITE = "write"
    CREATE = "create"
    ALTER = "alter"
    DROP = "drop"
    SESSION = "session"
    """To log in."""
    USAGE = "usage"
    """To use what else was granted."""
    PROMOTE = "promote"
    DEMOTE = "demote"
    CLEAR = "clear"
    """To take the limbo over, and to roll it back."""
    MEMBER = "member"
    """To change who belongs to the cluster, and for whom the log is kept."""
    BACKUP = "backup"
    """To take snapshots away: they hold every space, and what passwords are checked by."""
    DUMP = "dump"
    """To take the log away, which holds every write."""
    SETTINGS = "settings"
    FAULT = "fault"
    TRACE = "trace"
    AUDIT = "audit"
    """To see who the users are, and what they may do."""
    SUPER = "super"
    """All of these, and to change users, roles and grants."""


class GrantedOn(StrEnum):
    """What something is granted on."""

    UNIVERSE = "universe"
    SPACE = "space"
    """A space or sequence by its name, or all whose names begin with what is before a `*`."""
    ROLE = "role"
    """All that the role has. The privilege is USAGE, by convention."""


ON_SPACES: Final = frozenset(
    {Privilege.READ, Privilege.WRITE, Privilege.CREATE, Privilege.ALTER, Privilege.DROP}
)
"""What can be granted on a space."""
NEWCOMER: Final = frozenset({Privilege.SESSION, Privilege.USAGE})
"""What every user is granted when it is created; to take it back locks the user out."""

ROLES: Final[dict[str, frozenset[Privilege]]] = {
    "reader": frozenset({Privilege.READ}),
    "writer": frozenset({Privilege.READ, Privilege.WRITE}),
    "operator": frozenset(
        {
            Privilege.PROMOTE,
            Privilege.DEMOTE,
            Privilege.CLEAR,
            Privilege.MEMBER,
            Privilege.SETTINGS,
            Privilege.TRACE,
        }
    ),
    "auditor": frozenset({Privilege.AUDIT}),
    "replication": frozenset({Privilege.BACKUP, Privilege.DUMP}),
    "super": frozenset({Privilege.SUPER}),
}
"""Roles of every cluster, on the universe. They cannot be changed."""
RESERVED: Final = frozenset({LOCAL_ADMIN, "guest", EVERY, *ROLES})
"""Names that no user and no role can be given; who asks for the rights of `*` gets those of all."""


class Need(NamedTuple):
    """A right that something takes: on a space by name or number, or on the universe without."""

    privilege: Privilege
    space: str | int | None = None

    def __str__(self) -> str:
        where = "the universe" if self.space is None else f"space {self.space!r}"
        return f"{self.privilege} on {where}"


class Grant(NamedTuple):
    """One row of `_priv`: what `grantee` may do on an object."""

    grantee: str
    kind: GrantedOn
    name: str
    """Of the space or role; empty for the universe."""
    privileges: frozenset[Privilege]

    def row(self) -> list[object]:
        """As it is stored."""
        named = sorted(each.value for each in self.privileges)
        return [self.grantee, self.kind.value, self.name, named]
