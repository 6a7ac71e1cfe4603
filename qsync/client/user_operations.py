"""Operations on users, roles and grants, as they travel."""

from collections.abc import Iterable

from qsync.client.operations import Operation
from qsync.data.request import Op
from qsync.rights import GrantedOn
from qsync.wire.scram import PasswordKeys


def enable(key: bytes) -> Operation:
    """From here on a cluster has users; nothing where it has them already."""
    return [Op.ENABLE_USERS, key]


def create_user(
    name: str,
    password: PasswordKeys | None = None,
    *,
    certificate: bool = True,
    if_not_exists: bool = False,
) -> Operation:
    """A user, who logs in with a password, or a certificate of his name."""
    given: dict[str, object] = {"certificate": certificate, "if_not_exists": if_not_exists}
    if password is not None:
        given["password"] = password.options()
    return [Op.CREATE_USER, name, given]


def alter_user(
    name: str, password: PasswordKeys | None = None, *, certificate: bool | None = None
) -> Operation:
    """Another password; whether a certificate logs in."""
    given: dict[str, object] = {}
    if password is not None:
        given["password"] = password.options()
    if certificate is not None:
        given["certificate"] = certificate
    return [Op.ALTER_USER, name, given]


def drop_user(name: str, *, if_exists: bool = False) -> Operation:
    """The user goes, with what he was granted."""
    return [Op.DROP_USER, name, {"if_exists": if_exists}]


def create_role(name: str, *, if_not_exists: bool = False) -> Operation:
    """A role."""
    return [Op.CREATE_ROLE, name, {"if_not_exists": if_not_exists}]


def drop_role(name: str, *, if_exists: bool = False) -> Operation:
    """The role goes, also from those who have it."""
    return [Op.DROP_ROLE, name, {"if_exists": if_exists}]


def grant(
    grantee: str, privileges: Iterable[str], on: GrantedOn | str, object_: str = ""
) -> Operation:
    """Grant privileges to a user or role."""
    return [Op.GRANT, grantee, list(privileges), str(on), object_]


def revoke(
    grantee: str, privileges: Iterable[str], on: GrantedOn | str, object_: str = ""
) -> Operation:
    """Take them back."""
    return [Op.REVOKE, grantee, list(privileges), str(on), object_]
