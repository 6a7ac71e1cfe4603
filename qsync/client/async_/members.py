"""The members of the cluster: changes of the configuration, asked of the leader."""

from qsync.client import calls
from qsync.client.async_.runner import AsyncRunner
from qsync.client.options import OPERATE_S, beyond
from qsync.member import MemberAction, MemberRole


class AsyncMembership:
    """`db.members`: each call is one change, and returns when that is decided.

    A change that cannot be made now is refused (`ReadOnly`, with the reason): while another one is
    under way, for a voter that would lack entries, or where those in touch would be no quorum.
    `force` makes it all the same (membership.md M4 a).
    """

    def __init__(self, runner: AsyncRunner) -> None:
        self._runner = runner

    async def add(
        self,
        replica: int,
        instance: str,
        *,
        name: str,
        address: str,
        role: MemberRole = MemberRole.LEARNER,
        force: bool = False,
        timeout: float = OPERATE_S,  # noqa: ASYNC109 - the node's too
    ) -> None:
        """Name the directory `instance` (a uuid), which runs as `replica` at `address`."""
        call = calls.change_member(
            MemberAction.ADD,
            replica,
            timeout,
            instance=instance,
            name=name,
            address=address,
            role=role,
            force=force,
        )
        await self._runner.run(call, timeout=beyond(timeout))

    async def remove(
        self,
        replica: int,
        *,
        force: bool = False,
        timeout: float = OPERATE_S,  # noqa: ASYNC109 - the node's too
    ) -> None:
        """Remove it. A leader that removes itself hands over when that is decided."""
        call = calls.change_member(MemberAction.REMOVE, replica, timeout, force=force)
        await self._runner.run(call, timeout=beyond(timeout))

    async def set_role(
        self,
        replica: int,
        role: MemberRole,
        *,
        force: bool = False,
        timeout: float = OPERATE_S,  # noqa: ASYNC109 - the node's too
    ) -> None:
        """Make a learner a voter, or a voter a learner."""
        call = calls.change_member(MemberAction.SET_ROLE, replica, timeout, role=role, force=force)
        await self._runner.run(call, timeout=beyond(timeout))

    async def move(
        self,
        replica: int,
        address: str,
        *,
        timeout: float = OPERATE_S,  # noqa: ASYNC109 - the node's too
    ) -> None:
        """Change the address at which it is dialled to `address` (`host:port`)."""
        call = calls.change_member(MemberAction.MOVE, replica, timeout, address=address)
        await self._runner.run(call, timeout=beyond(timeout))

    async def replace(
        self,
        replica: int,
        *,
        timeout: float = OPERATE_S,  # noqa: ASYNC109 - the node's too
    ) -> None:
        """Give the place of a voter to the directory that runs under its id now."""
        call = calls.change_member(MemberAction.REPLACE, replica, timeout)
        await self._runner.run(call, timeout=beyond(timeout))
