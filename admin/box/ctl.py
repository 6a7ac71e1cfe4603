"""`box.ctl`: changes the leader, clears the limbo, and waits for either."""

import time
from collections.abc import Mapping
from typing import Final

from admin.box.base import BoxSession, BoxWatch
from qsync.errors import NotLeader, QsyncError, ReadOnly

PATIENCE_S: Final = 10.0
"""How long promote, demote and clear may take, by default."""


class TimedOut(QsyncError):
    """The awaited state was not reached in time. Waiting changed nothing."""

    code = "TIMED_OUT"
    number = 76
    hint = "`box.ctl` waits longer when told to; `box.why` says what is missing"


class NoSuchMember(QsyncError):
    """No member of the cluster has this uuid."""

    code = "NO_SUCH_MEMBER"
    number = 99


class StillConnected(QsyncError):
    """The member is connected, so the log is still kept for it."""

    code = "STILL_CONNECTED"
    number = 77
    hint = "stop that node first"


class Ctl:
    """Requests to the node of the session."""

    def __init__(self, box: BoxSession) -> None:
        self._box = box

    async def promote(self, *, patience: float = PATIENCE_S) -> None:
        """Make the node the leader; done when its PROMOTE is confirmed."""
        try:
            await self._box.node.promote(timeout=patience)
        except (ReadOnly, NotLeader) as error:
            raise await self._refused("promote", error) from None

    async def demote(self, to: int = 0, *, patience: float = PATIENCE_S) -> None:
        """Make the node give up leadership, to the member `to` if that is not 0.

        Nothing is done, and nothing is wrong, where it does not lead: as in Tarantool.
        """
        try:
            await self._box.node.demote(to, timeout=patience)
        except (ReadOnly, NotLeader) as error:
            raise await self._refused("demote", error) from None

    async def clear_synchro_queue(self, *, patience: float = PATIENCE_S) -> None:
        """Take the limbo over and confirm what is in it; never rolls anything back."""
        try:
            await self._box.node.clear_synchro_queue(timeout=patience)
        except (ReadOnly, NotLeader) as error:
            raise await self._refused("clear_synchro_queue", error) from None

    async def rollback_synchro_queue(self) -> None:
        """Roll back everything that is pending and from the leader's own term."""
        try:
            await self._box.node.rollback_synchro_queue()
        except (ReadOnly, NotLeader) as error:
            raise await self._refused("rollback_synchro_queue", error) from None

    async def wait_ro(self, patience: float | None = None) -> None:
        """Wait until the node is read-only. Raises TimedOut."""
        await self._wait(patience, ro=True)

    async def wait_rw(self, patience: float | None = None) -> None:
        """Wait until the node takes writes. Raises TimedOut."""
        await self._wait(patience, ro=False)

    def elections(self) -> BoxWatch:
        """Watch term, role and leader: the present ones, then each change."""
        return self._box.watch("box.election")

    async def replica_gc(self, uuid: str) -> str:
        """Stop keeping the log for a member that is away. Raises StillConnected, NoSuchMember.

        It stays a member, and takes a snapshot when it is back.
        """
        info = await self._box.info()
        kept = next((each for each in info.gc.consumers if each.name == uuid), None)
        name = None if kept is None else kept.about
        members = info.replication.values()
        member = next((each for each in members if uuid == each.uuid or name == each.name), None)
        if member is None:
            known = ", ".join(f"{each.name} {each.uuid}" for each in info.replication.values())
            raise NoSuchMember(f"{info.name} knows no member {uuid}", hint=f"it knows {known}")
        up, down = member.upstream, member.downstream
        if up is None or up.status != "disconnected" or (down and down.status == "follow"):
            raise StillConnected(f"{member.name} is connected to {info.name}")
        await self._box.data.consumers.let_go(uuid)
        held = 0 if kept is None else kept.size
        return f"{member.name} is let go: {held} bytes of log were kept for it"

    async def dry_run(self, what: str) -> Mapping[str, object]:
        """Return what `promote`, `demote` or `clear_synchro_queue` would do, in numbers."""
        return await self._box.node.dry_run(what)

    async def _wait(self, patience: float | None, *, ro: bool) -> None:
        wanted = "read-only" if ro else "writable"
        until = None if patience is None else time.monotonic() + patience
        values = self._box.watch("box.status")
        status = await anext(values)
        while status.get("is_ro") is not ro:
            left = None if until is None else until - time.monotonic()
            found = await values.within(left)
            if found is None:
                raise self._late(patience, wanted, status)
            status = found

    def _late(self, patience: float | None, wanted: str, status: Mapping[str, object]) -> TimedOut:
        why = status.get("ro_reason")
        return TimedOut(
            f"{self._box.name} is not {wanted} after {patience or 0:g} s"
            + (f": {why}" if why else ""),
            details={"status": dict(status)},
        )

    async def _refused(self, what: str, error: QsyncError) -> QsyncError:
        """Return the refusal with the node, the rule, the numbers and the next step."""
        from admin.box.asking import Why  # noqa: PLC0415 - it needs a survey, which few do

        try:
            answer = await Why(self._box).would(what)
        except QsyncError:
            return error
        told = type(error)(
            f"{what} of {self._box.name} refused: {error.message}",
            hint="; ".join(answer.next) or error.hint,
            leader=error.leader,
            details={**error.details, "why": answer.as_members()},
        )
        told.outcome = error.outcome
        return told
