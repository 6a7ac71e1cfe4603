"""Every name that the shell knows, with a one-line description: for completion, hints and help."""

import inspect
from collections.abc import Mapping
from typing import Final

from admin.box.asking import Why
from admin.box.base import KEYS
from admin.box.ctl import Ctl
from admin.box.session import Backup, Box, CfgOptions
from admin.box.space import BoxSpace
from cli.shell import arguments
from qsync.client.async_.users import AsyncUsers
from qsync.status.record import BoxInfo, names


def _doc(of: object) -> str:
    return " ".join((inspect.getdoc(of) or "").split())


SPACE: Final[Mapping[str, tuple[str, str]]] = {
    "select": ("(key, {iterator, limit, offset, after})", _doc(BoxSpace.select)),
    "get": ("(key)", _doc(BoxSpace.get)),
    "insert": ("{tuple}", _doc(BoxSpace.insert)),
    "replace": ("{tuple}", _doc(BoxSpace.replace)),
    "put": ("{tuple}", "The same as replace."),
    "update": ("(key, {{'=', field, value}, ...})", _doc(BoxSpace.update)),
    "upsert": ("({tuple}, {{'+', field, 1}, ...})", _doc(BoxSpace.upsert)),
    "delete": ("(key)", _doc(BoxSpace.delete)),
    "count": ("(key, {iterator})", _doc(BoxSpace.count)),
    "len": ("()", "How many tuples there are."),
    "min": ("(key)", "The first tuple."),
    "max": ("(key)", "The last tuple."),
    "pairs": ("(key, {iterator})", "For loops: `for _, tuple in space:pairs() do ... end`."),
    "truncate": ("()", _doc(BoxSpace.truncate)),
    "create_index": ("(name, {parts, unique})", _doc(BoxSpace.create_index)),
    "alter": ("{is_sync, format, name}", _doc(BoxSpace.alter)),
    "format": ("({{name, type}, ...})", "The names and types of the fields, or new ones."),
    "rename": ("(name)", "Another name for the space."),
    "drop": ("()", _doc(BoxSpace.drop)),
}
"""Methods of spaces: their signature and their effect."""

_GRANT: Final = "(name, 'read,write', 'space', 'orders.*') or (name, role)"
BOX: Final[Mapping[str, tuple[str, str]]] = {
    "box.info": ("", _doc(Box.info)),
    "box.cfg": ("{option = value}", _doc(CfgOptions)),
    "box.stat": ("", "Counters of the node since its start."),
    "box.space": (".NAME", "The spaces."),
    "box.sequence": (".NAME:next()", "The sequences."),
    "box.schema.create_space": (
        "(name, {is_sync, format, if_not_exists})",
        "A space without an index; create_index makes its primary one.",
    ),
    "box.schema.space.create": ("(name, {...})", "The same as box.schema.create_space."),
    "box.schema.sequence.create": ("(name, {start, step})", "A sequence of numbers."),
    "box.schema.user.create": ("(name, {password, if_not_exists})", _doc(AsyncUsers.create)),
    "box.schema.user.drop": ("(name, {if_exists})", _doc(AsyncUsers.drop)),
    "box.schema.user.passwd": ("(name, password)", _doc(AsyncUsers.set_password)),
    "box.schema.user.grant": (_GRANT, _doc(AsyncUsers.grant)),
    "box.schema.user.revoke": (_GRANT, _doc(AsyncUsers.revoke)),
    "box.schema.user.info": ("(name)", _doc(AsyncUsers.info)),
    "box.schema.user.exists": ("(name)", _doc(AsyncUsers.exists)),
    "box.schema.user.list": ("()", "The names of all users."),
    "box.schema.role.create": ("(name, {if_not_exists})", _doc(AsyncUsers.create_role)),
    "box.schema.role.drop": ("(name, {if_exists})", _doc(AsyncUsers.drop_role)),
    "box.schema.role.grant": (_GRANT, _doc(AsyncUsers.grant)),
    "box.schema.role.revoke": (_GRANT, _doc(AsyncUsers.revoke)),
    "box.schema.role.info": ("(name)", _doc(AsyncUsers.info)),
    "box.schema.role.exists": ("(name)", _doc(AsyncUsers.exists)),
    "box.schema.role.list": ("()", "The names of all roles."),
    "box.session.user": ("()", "The current user; nothing without users."),
    "box.session.effective_user": ("()", "The same."),
    "box.session.su": (
        "(user), or (user, function, ...)",
        "Be that user, or only while the function runs; it takes the right super.",
    ),
    "box.session.id": ("()", "A number of this session, within the shell."),
    "box.session.type": ("()", "Always console."),
    "box.session.peer": ("()", "The address of the node that the session speaks to."),
    "box.begin": ("({is_sync})", _doc(Box.begin)),
    "box.commit": ("({is_sync, is_lazy, wait})", _doc(Box.commit)),
    "box.rollback": ("()", _doc(Box.rollback)),
    "box.atomic": ("(function)", _doc(Box.atomic)),
    "box.savepoint": ("()", "Where box.rollback_to_savepoint(savepoint) goes back to."),
    "box.rollback_to_savepoint": ("(savepoint)", "Drop what was written since; it stays open."),
    "box.on_commit": (
        "(function())",
        "Call it here when the open transaction is committed; it gets no rows.",
    ),
    "box.on_rollback": ("(function())", "Call it here when the open transaction is rolled back."),
    "box.once": (
        "(key, function, ...)",
        "Run it once in the life of the cluster: the key goes to the space _once before.",
    ),
    "box.error": ("(code, message)", "Raise an error; box.error.READONLY and the like are codes."),
    "box.error.new": ("(code, message)", "The same without raising it; e:raise() does."),
    "box.error.last": ("()", "The last error that the cluster answered with."),
    "box.error.injection.set": (
        "(name, true)",
        "Arm the fault point that does what Tarantool's ERRINJ_WAL_DELAY or ERRINJ_WAL_IO does.",
    ),
    "box.is_in_txn": ("()", "Is a transaction open?"),
    "box.snapshot": ("()", _doc(Box.snapshot)),
    "box.backup.start": ("()", _doc(Backup.start)),
    "box.backup.stop": ("()", _doc(Backup.stop)),
    "box.watch": (
        "(key, function(key, value))",
        f"Call it for the value now and for every other one. Keys: {', '.join(KEYS)}.",
    ),
    "box.watch_once": ("(key)", "The value of a broadcast key."),
    "box.double": ("(number)", "A number that stays a double: 10 / 2 is 5, box.double(5) is 5.0."),
    "box.NULL": ("", "Nothing, where a list needs something."),
    "box.ctl.promote": ("()", _doc(Ctl.promote)),
    "box.ctl.demote": ("(member)", _doc(Ctl.demote)),
    "box.ctl.clear_synchro_queue": ("()", _doc(Ctl.clear_synchro_queue)),
    "box.ctl.rollback_synchro_queue": ("()", _doc(Ctl.rollback_synchro_queue)),
    "box.ctl.wait_ro": ("(seconds)", _doc(Ctl.wait_ro)),
    "box.ctl.wait_rw": ("(seconds)", _doc(Ctl.wait_rw)),
    "box.ctl.on_election": ("(function(value))", _doc(Ctl.elections)),
    "box.ctl.replica_gc": ("(uuid)", _doc(Ctl.replica_gc)),
    "box.ctl.wal_sync": ("()", "Wait until the disk of the node has its whole current log."),
    "box.ctl.dry_run": ("('promote')", _doc(Ctl.dry_run)),
    "box.why.read_only": ("()", _doc(Why.read_only)),
    "box.why.waiting": ("()", _doc(Why.waiting)),
    "box.why.promote": ("()", _doc(Why.would)),
    "box.why.demote": ("()", _doc(Why.would)),
    "netbox.connect": (
        "(address)",
        "Another session: c.space.NAME, c:begin(), c:commit(), c:rollback(), c:info(), c:close().",
    ),
}
"""All names below a global name: their signature and their effect."""

INFO: Final = names(BoxInfo)
OPTIONS: Final = tuple(CfgOptions.__annotations__)
TAKES: Final[Mapping[str, tuple[str, ...]]] = {
    "box.cfg": OPTIONS,
    "box.begin": arguments.COMMIT_OPTIONS,
    "box.commit": arguments.COMMIT_OPTIONS,
    "box.schema.create_space": arguments.SPACE_OPTIONS,
    "box.schema.space.create": arguments.SPACE_OPTIONS,
    "box.schema.sequence.create": arguments.SEQUENCE_OPTIONS,
    "box.schema.user.create": arguments.USER_OPTIONS,
    "create_index": arguments.INDEX_OPTIONS,
    "alter": arguments.ALTER_OPTIONS,
    **dict.fromkeys(("select", "count", "pairs"), arguments.READ_OPTIONS),
}
"""Calls with a table of options, by name or by method: the options."""

VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "iterator": arguments.ITERATORS,
    "wait": tuple(arguments.WAITS),
}
"""The values of an option, if they are a few words."""

TEXTS: Final[Mapping[str, tuple[str, ...]]] = {
    "box.watch": KEYS,
    "box.watch_once": KEYS,
    "box.ctl.dry_run": ("promote", "demote", "clear_synchro_queue"),
    "box.ctl.demote": (),
}
"""Calls with a text: which ones."""

GLOBALS: Final = (
    *("box", "netbox", "print", "pairs", "ipairs", "pcall", "error", "require", "tostring"),
    *("tonumber", "type", "string", "table", "math", "utf8", "help", "tutorial"),
    *("and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in"),
    *("local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while"),
)
"""The possible beginnings of a line."""
