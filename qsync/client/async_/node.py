"""What can be asked of the node one is connected to: status, info, and an operator's commands."""

from collections.abc import Mapping

from qsync.client import calls, questions
from qsync.client.async_.runner import AsyncRunner
from qsync.client.options import GRACE_S, OPERATE_S
from qsync.wire.verbs import Name


class AsyncNode:
    """Calls about a node: the leader, or the one node that a direct client speaks to."""

    def __init__(self, runner: AsyncRunner) -> None:
        self._runner = runner

    async def ping(self) -> None:
        """Is somebody there?"""
        await self._runner.run(calls.ping())

    async def status(self) -> dict[str, object]:
        """The node's status record."""
        return await self._runner.run(calls.status())

    async def info(self, path: str | None = None) -> object:
        """`box.info`, or a part of it such as `synchro.queue.len`."""
        return await self._runner.run(calls.info(path))

    async def lost(self) -> object:
        """Asynchronous transactions that were answered "ok" and then cut."""
        return await self._runner.run(calls.lost())

    async def digest(self, space: Name | None = None) -> tuple[int, int, dict[str, object]]:
        """Visible index, folded index, and the hash of each space."""
        return await self._runner.run(calls.digest(space))

    async def log(
        self, first: int, *, count_max: int = 1000, bytes_max: int = 4 << 20
    ) -> tuple[int, int, bytes]:
        """Log entries as stored: first index, last index, and the batch."""
        return await self._runner.run(calls.log(first, count_max, bytes_max))

    async def dry_run(self, what: str) -> dict[str, object]:
        """What an operation would do, in numbers."""
        return await self._runner.run(calls.dry_run(what))

    async def promote(self, *, timeout: float = OPERATE_S) -> None:  # noqa: ASYNC109 - the node's too
        """Make the node the leader; returns when its PROMOTE is confirmed."""
        await self._runner.run(calls.promote(timeout), timeout=timeout + GRACE_S)

    async def demote(self, to: int = 0, *, timeout: float = OPERATE_S) -> None:  # noqa: ASYNC109 - the node's too
        """Make the node give up leadership, to the replica `to` if that is not 0."""
        await self._runner.run(calls.demote(to, timeout), timeout=timeout + GRACE_S)

    async def clear_synchro_queue(self, *, timeout: float = OPERATE_S) -> None:  # noqa: ASYNC109 - the node's too
        """Take over the limbo, as `promote` does."""
        await self._runner.run(calls.clear(timeout), timeout=timeout + GRACE_S)

    async def replace_member(self, replica: int, *, timeout: float = OPERATE_S) -> None:  # noqa: ASYNC109 - the node's too
        """Give the place of a voter to the directory that runs under its id now.

        Asked of the leader; returns when the new directory is a voter and that is decided.
        """
        await self._runner.run(calls.replace_member(replica, timeout), timeout=timeout + GRACE_S)

    async def rollback_synchro_queue(self) -> None:
        """Roll back everything that is pending and of the leader's own term."""
        await self._runner.run(calls.rollback_queue())

    async def options(self, given: Mapping[str, object] | None = None) -> dict[str, object]:
        """`box.cfg`: every option of the node, after changing the given ones (all, or none)."""
        return await self._runner.run(questions.options(given or {}))

    async def snapshot(self, *, timeout: float = OPERATE_S) -> int:  # noqa: ASYNC109 - the node's too
        """Store what is confirmed; the index up to which the spaces are durable then."""
        return await self._runner.run(questions.snapshot(), timeout=timeout)

    async def trace(self, index: int, *, arm: float = 0.0) -> dict[str, object]:
        """What became of a log entry on the node, and when, if it was watched then.

        The node goes on watching for `arm` seconds.
        """
        return await self._runner.run(questions.trace(index, arm))
