"""Verbs about users, roles and privileges, with Tarantool's names."""

from collections.abc import Sequence

from admin.box.session import Box
from cli.shell import arguments
from cli.shell.dataverbs import NOTHING, Verb
from qsync.client import login
from qsync.client.async_.users import AsyncUsers
from qsync.errors import WrongOperation
from qsync.rights import GrantedOn

_GRANT = "(name, 'read,write', 'space', 'orders.*'), or (name, role)"


class UserVerbs:
    """Each gets the session and the arguments from Lua."""

    def verbs(self) -> dict[str, Verb]:
        """Return the verbs by name."""
        shared = {
            "grant": self._grant,
            "revoke": self._revoke,
            "info": self._info,
            "exists": self._exists,
        }
        return {
            "session.user": self._session_user,
            "session.su": self._su,
            "session.effective_user": self._session_user,
            "user.create": self._create_user,
            "user.drop": self._drop_user,
            "user.passwd": self._passwd,
            "user.list": self._list_users,
            "role.create": self._create_role,
            "role.drop": self._drop_role,
            "role.list": self._list_roles,
            **{f"{of}.{name}": verb for of in ("user", "role") for name, verb in shared.items()},
        }

    async def _session_user(self, box: Box, _args: Sequence[object]) -> object:
        return (await _users(box).info())["user"]

    async def _su(self, box: Box, args: Sequence[object]) -> object:
        await box.act_as(_name(args))
        return NOTHING

    async def _create_user(self, box: Box, args: Sequence[object]) -> object:
        given = arguments.options(
            arguments.at(args, 1), arguments.USER_OPTIONS, "box.schema.user.create"
        )
        password = given.get("password")
        await _users(box).create(
            _name(args),
            None if password is None else arguments.text(password, "a password"),
            certificate=bool(given.get("certificate", True)),
            if_not_exists=bool(given.get("if_not_exists")),
        )
        return NOTHING

    async def _drop_user(self, box: Box, args: Sequence[object]) -> object:
        await _users(box).drop(_name(args), if_exists=_if_exists(args, "user"))
        return NOTHING

    async def _passwd(self, box: Box, args: Sequence[object]) -> object:
        users = _users(box)
        name, password = arguments.at(args, 0), arguments.at(args, 1)
        if password is None:
            name, password = (await users.info())["user"], name
        user, word = arguments.text(name, "a user"), arguments.text(password, "a password")
        await users.set_password(user, word)
        if login.is_user(user):
            login.remember(word)
        return NOTHING

    async def _create_role(self, box: Box, args: Sequence[object]) -> object:
        given = arguments.options(
            arguments.at(args, 1), ("if_not_exists",), "box.schema.role.create"
        )
        await _users(box).create_role(_name(args), if_not_exists=bool(given.get("if_not_exists")))
        return NOTHING

    async def _drop_role(self, box: Box, args: Sequence[object]) -> object:
        await _users(box).drop_role(_name(args), if_exists=_if_exists(args, "role"))
        return NOTHING

    async def _grant(self, box: Box, args: Sequence[object]) -> object:
        privileges, space, role = _granted(args)
        await _users(box).grant(_name(args), privileges, space=space, role=role)
        return NOTHING

    async def _revoke(self, box: Box, args: Sequence[object]) -> object:
        privileges, space, role = _granted(args)
        await _users(box).revoke(_name(args), privileges, space=space, role=role)
        return NOTHING

    async def _info(self, box: Box, args: Sequence[object]) -> object:
        name = arguments.at(args, 0)
        return await _users(box).info(None if name is None else arguments.text(name, "a name"))

    async def _exists(self, box: Box, args: Sequence[object]) -> object:
        return await _users(box).exists(_name(args))

    async def _list_users(self, box: Box, _args: Sequence[object]) -> object:
        return await _names(box, "user")

    async def _list_roles(self, box: Box, _args: Sequence[object]) -> object:
        return await _names(box, "role")


def _users(box: Box) -> AsyncUsers:
    return box.data.users


def _name(args: Sequence[object]) -> str:
    return arguments.text(arguments.at(args, 0), "the name of a user or role")


def _if_exists(args: Sequence[object], what: str) -> bool:
    given = arguments.options(arguments.at(args, 1), ("if_exists",), f"box.schema.{what}.drop")
    return bool(given.get("if_exists"))


def _granted(args: Sequence[object]) -> tuple[list[str], str | None, str | None]:
    """Privileges, and the space or the role; the universe without either."""
    what = arguments.text(arguments.at(args, 1), f"what is granted, {_GRANT},")
    kind = arguments.at(args, 2)
    if kind is None:
        return [], None, what
    privileges = [each.strip() for each in what.split(",")]
    match kind:
        case GrantedOn.UNIVERSE:
            return privileges, None, None
        case GrantedOn.SPACE:
            return privileges, arguments.text(arguments.at(args, 3), "a space"), None
        case GrantedOn.ROLE:
            return privileges, None, arguments.text(arguments.at(args, 3), "a role")
        case _:
            raise WrongOperation(f"rights are granted on universe, space, role, not on {kind!r}")


async def _names(box: Box, kind: str) -> list[str]:
    found = await _users(box).list()
    return [
        name for name, one in found.items() if isinstance(one, dict) and one.get("kind") == kind
    ]
