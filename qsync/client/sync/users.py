"""Users, roles and grants: each change is a synchronous transaction, in force once confirmed."""
# Made from qsync/client/async_/users.py by tests/repo/blocking_surface.py: change that.

from collections.abc import Callable, Iterable

from qsync.client import arguments, calls, login, questions, user_operations
from qsync.client.operations import Operation
from qsync.client.rows import Receipt
from qsync.client.sync.runner import BlockingRunner
from qsync.rights import GrantedOn


class ClientUsers:
    """`db.users`: who may log in, and what they may do. The first user that is made has role super.

    Passwords do not travel: what is sent and kept is what they are checked by (SCRAM-SHA-256).
    """

    def __init__(self, runner: BlockingRunner, learn: Callable[[str, str], None]) -> None:
        """`learn`: hears of every user's new password, and what it is."""
        self._runner = runner
        self._learn = learn

    def create(
        self,
        name: str,
        password: str | None = None,
        *,
        certificate: bool = True,
        if_not_exists: bool = False,
    ) -> Receipt:
        """A user; from the first one on, who may do what is looked up.

        Without a password he logs in with a certificate of his name, if `certificate`. Raises
        AccessDenied for a password that is too short, ConfigError where a node is too old for it.
        """
        keys = None if password is None else login.new_password(password)
        made = user_operations.create_user(
            name, keys, certificate=certificate, if_not_exists=if_not_exists
        )
        return self._write(user_operations.enable(login.new_key()), made)

    def set_password(self, name: str, password: str) -> Receipt:
        """Another password; of oneself without any right, of others with super.

        Connections that logged in with the former one end within a second, but for this client,
        which goes on with the new one.
        """
        changed = user_operations.alter_user(name, login.new_password(password))
        receipt = self._write(changed)
        self._learn(name, password)
        return receipt

    def allow_certificate(self, name: str, *, allow: bool) -> Receipt:
        """Set whether a certificate of that name logs the user in."""
        return self._write(user_operations.alter_user(name, certificate=allow))

    def drop(self, name: str, *, if_exists: bool = False) -> Receipt:
        """The user goes, with all he was granted; his connections end within a second."""
        return self._write(user_operations.drop_user(name, if_exists=if_exists))

    def create_role(self, name: str, *, if_not_exists: bool = False) -> Receipt:
        """A role: things are granted to it, and it is granted to users and roles."""
        return self._write(user_operations.create_role(name, if_not_exists=if_not_exists))

    def drop_role(self, name: str, *, if_exists: bool = False) -> Receipt:
        """The role goes, also from those who have it."""
        return self._write(user_operations.drop_role(name, if_exists=if_exists))

    def grant(
        self,
        grantee: str,
        privileges: Iterable[str] = (),
        *,
        space: str | None = None,
        role: str | None = None,
    ) -> Receipt:
        """Grant privileges on a space (a name, or `orders.*`), else on the universe; or a role."""
        return self._write(
            user_operations.grant(grantee, *_granted(privileges, space=space, role=role))
        )

    def revoke(
        self,
        grantee: str,
        privileges: Iterable[str] = (),
        *,
        space: str | None = None,
        role: str | None = None,
    ) -> Receipt:
        """Take back what was granted with the same words."""
        return self._write(
            user_operations.revoke(grantee, *_granted(privileges, space=space, role=role))
        )

    def info(self, name: str | None = None) -> dict[str, object]:
        """The privileges of a user or role; without a name, the current user and its privileges."""
        return self._runner.run(questions.rights(name))

    def list(self) -> "dict[str, object]":
        """All users and roles, by name."""
        return questions.all_rights(self._runner.run(questions.rights(questions.EVERYBODY)))

    def exists(self, name: str) -> bool:
        """Is there such a user or role?"""
        return arguments.text_of("name", name) in self.list()

    def _write(self, *operations: Operation) -> Receipt:
        return self._runner.run(calls.write([*operations]))


def _granted(
    privileges: Iterable[str], *, space: str | None, role: str | None
) -> tuple[Iterable[str], GrantedOn, str]:
    """Return what is granted, on what."""
    if role is not None:
        return ["usage"], GrantedOn.ROLE, role
    if space is not None:
        return privileges, GrantedOn.SPACE, space
    return privileges, GrantedOn.UNIVERSE, ""
