"""Operations on users, roles and grants in wire form."""

from collections.abc import Iterable

from qsync.client.arguments import each_of
from qsync.client.operations import Operation
from qsync.data.operation_kinds import Op
from qsync.rights import GrantedOn
from qsync.wire.scram import PasswordKeys


def enable(key: bytes) -> Operation:
    """Enable users in a cluster; does nothing where it has them already."""
    return [Op.ENABLE_USERS, key]


def create_user(
    name: str,
    password: PasswordKeys | None = None,
    *,
    certificate: bool = True,
    if_not_exists: bool = False,
) -> Operation:
    """Create a user, who logs in with a password, or a certificate of that name."""
    given: dict[str, object] = {"certificate": certificate, "if_not_exists": if_not_exists}
    if password is not None:
        given["password"] = password.options()
    return [Op.CREATE_USER, name, given]


def alter_user(
    name: str, password: PasswordKeys | None = None, *, certificate: bool | None = None
) -> Operation:
    """Change the password, and whether a certificate logs in."""
    given: dict[str, object] = {}
    if password is not None:
        given["password"] = password.options()
    if certificate is not None:
        given["certificate"] = certificate
    return [Op.ALTER_USER, name, given]


def drop_user(name: str, *, if_exists: bool = False) -> Operation:
    """Drop a user, with all grants."""
    return [Op.DROP_USER, name, {"if_exists": if_exists}]


def create_role(name: str, *, if_not_exists: bool = False) -> Operation:
    """Create a role."""
    return [Op.CREATE_ROLE, name, {"if_not_exists": if_not_exists}]


def drop_role(name: str, *, if_exists: bool = False) -> Operation:
    """Drop a role, also from those who have it."""
    return [Op.DROP_ROLE, name, {"if_exists": if_exists}]


def grant(
    grantee: str, privileges: Iterable[str], on: GrantedOn | str, object_: str = ""
) -> Operation:
    """Grant privileges to a user or role."""
    return [Op.GRANT, grantee, _privileges(privileges), str(on), object_]


def revoke(
    grantee: str, privileges: Iterable[str], on: GrantedOn | str, object_: str = ""
) -> Operation:
    """Take them back."""
    return [Op.REVOKE, grantee, _privileges(privileges), str(on), object_]


def _privileges(given: Iterable[str]) -> list[object]:
    """Return them as a list. Raises ConfigError."""
    return list(each_of("privileges", given, 'a list of names, such as ["read"]'))
