"""Verbs about a node and leadership, bound to the facade."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from admin.box.session import Box
from cli.shell import arguments
from cli.shell.dataverbs import NOTHING, Verb
from cli.shell.refused import REFUSED, refusal_of
from cli.shell.runtime import CallableMap
from qsync.errors import WrongKey, WrongOperation

if TYPE_CHECKING:
    from admin.box.why import WhyAnswer


class AdminVerbs:
    """Each gets the session and the arguments from Lua."""

    def verbs(self) -> dict[str, Verb]:
        """Return the verbs by name."""
        return {
            "info": self._info,
            "cfg": self._cfg,
            "stat": self._stat,
            "snapshot": self._snapshot,
            "backup.start": _backup_start,
            "backup.stop": _backup_stop,
            "ping": self._ping,
            "watch_once": self._watch_once,
            "ctl.promote": self._promote,
            "ctl.demote": self._demote,
            "ctl.clear_synchro_queue": self._clear,
            "ctl.rollback_synchro_queue": self._roll_back,
            "ctl.wait_ro": self._wait_ro,
            "ctl.wait_rw": self._wait_rw,
            "ctl.replica_gc": self._replica_gc,
            "ctl.dry_run": self._dry_run,
            "why.read_only": self._why_read_only,
            "why.waiting": self._why_waiting,
            "why.promote": self._why_promote,
            "why.demote": self._why_demote,
            "why.clear_synchro_queue": self._why_clear,
        }

    async def _info(self, box: Box, args: Sequence[object]) -> object:
        path = arguments.at(args, 0)
        if path is None:
            found = await box.node.info()
            return CallableMap(dict(found)) if isinstance(found, dict) else found
        try:
            found = await box.info_at(arguments.text(path, "a member of box.info"))
        except WrongKey:
            if f"box.info.{path}" in REFUSED:
                raise refusal_of(f"box.info.{path}") from None
            return None  # as any table answers for what it does not have
        return CallableMap(found) if isinstance(found, dict) else found

    async def _cfg(self, box: Box, args: Sequence[object]) -> object:
        given = arguments.options(arguments.at(args, 0), (), "box.cfg")
        for name in given:
            if f"cfg.{name}" in REFUSED:
                raise refusal_of(f"cfg.{name}")
        return await box.node.options(given)

    async def _stat(self, box: Box, _args: Sequence[object]) -> object:
        return asdict(await box.stat.all())

    async def _snapshot(self, box: Box, _args: Sequence[object]) -> object:
        await box.snapshot()
        return "ok"

    async def _ping(self, box: Box, _args: Sequence[object]) -> object:
        await box.node.ping()
        return True

    async def _watch_once(self, box: Box, args: Sequence[object]) -> object:
        return await anext(box.watch(arguments.text(arguments.at(args, 0), "a key")))

    async def _promote(self, box: Box, _args: Sequence[object]) -> object:
        await box.ctl.promote()
        return NOTHING

    async def _demote(self, box: Box, args: Sequence[object]) -> object:
        to = arguments.at(args, 0)
        await box.ctl.demote(0 if to is None else await _member(box, to))
        return NOTHING

    async def _clear(self, box: Box, _args: Sequence[object]) -> object:
        await box.ctl.clear_synchro_queue()
        return NOTHING

    async def _roll_back(self, box: Box, _args: Sequence[object]) -> object:
        await box.ctl.rollback_synchro_queue()
        return NOTHING

    async def _wait_ro(self, box: Box, args: Sequence[object]) -> object:
        await box.ctl.wait_ro(arguments.seconds(arguments.at(args, 0), "wait_ro"))
        return NOTHING

    async def _wait_rw(self, box: Box, args: Sequence[object]) -> object:
        await box.ctl.wait_rw(arguments.seconds(arguments.at(args, 0), "wait_rw"))
        return NOTHING

    async def _replica_gc(self, box: Box, args: Sequence[object]) -> object:
        return await box.ctl.replica_gc(arguments.text(arguments.at(args, 0), "a uuid"))

    async def _dry_run(self, box: Box, args: Sequence[object]) -> object:
        return dict(await box.ctl.dry_run(arguments.text(arguments.at(args, 0), "an operation")))

    async def _why_read_only(self, box: Box, _args: Sequence[object]) -> object:
        return _told(await box.why.read_only())

    async def _why_waiting(self, box: Box, _args: Sequence[object]) -> object:
        return _told(await box.why.waiting())

    async def _why_promote(self, box: Box, _args: Sequence[object]) -> object:
        return _told(await box.why.would("promote"))

    async def _why_demote(self, box: Box, _args: Sequence[object]) -> object:
        return _told(await box.why.would("demote"))

    async def _why_clear(self, box: Box, _args: Sequence[object]) -> object:
        return _told(await box.why.would("clear_synchro_queue"))


async def _backup_start(box: Box, _args: Sequence[object]) -> object:
    return await box.backup.start()


async def _backup_stop(box: Box, _args: Sequence[object]) -> object:
    await box.backup.stop()
    return NOTHING


async def _member(box: Box, ref: object) -> int:
    """The id of a member given by name or id."""
    info = await box.info()
    for each in info.replication.values():
        if ref in (each.id, each.name):
            return each.id
    known = ", ".join(str(each.name) for each in info.replication.values())
    raise WrongOperation(f"there is no member {ref!r}", hint=f"there are {known}")


def _told(answer: "WhyAnswer") -> dict[str, object]:
    members = answer.as_members()
    return {name: value for name, value in members.items() if value and name != "schema"}
