"""Tasks that run beside a block and end with it; what the block raises comes out as it is."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVarTuple

import anyio
import anyio.abc

Args = TypeVarTuple("Args")


class BackgroundTasks:
    """Tasks of a group that end without the task of the block being cancelled.

    A group is left by cancelling that one, too. Under asyncio it is not told from a cancellation
    from outside where an `asyncio.TaskGroup` of the block has failed: that leaves its mark until
    Python 3.13.
    """

    def __init__(self, group: anyio.abc.TaskGroup) -> None:
        self._group = group
        self._scopes: set[anyio.CancelScope] = set()
        self._ended = False

    def start_soon(self, function: Callable[[*Args], Awaitable[object]], *args: *Args) -> None:
        """Start a task."""
        scope = anyio.CancelScope()
        if self._ended:
            scope.cancel()
        self._scopes.add(scope)
        self._group.start_soon(self._run, scope, function, args)

    def cancel(self) -> None:
        """Cancel all tasks, also those that are still to come."""
        self._ended = True
        for scope in self._scopes:
            scope.cancel()

    async def _run(
        self,
        scope: anyio.CancelScope,
        function: Callable[[*Args], Awaitable[object]],
        args: tuple[*Args],
    ) -> None:
        try:
            with scope:
                await function(*args)
        finally:
            self._scopes.discard(scope)


@asynccontextmanager
async def background_tasks() -> AsyncGenerator[BackgroundTasks]:
    """A group for tasks that are cancelled when the block ends.

    An error of the block is not put into an ExceptionGroup. That goes for SystemExit, Ctrl-C and
    `pytest.skip()`, too: nobody would know them in one. Nor is it lost if the caller is cancelled
    while the tasks end.
    """
    failure: BaseException | None = None
    try:
        async with anyio.create_task_group() as group:
            tasks = BackgroundTasks(group)
            try:
                yield tasks
            except BaseException as error:
                if _has_cancellation(error):
                    raise  # its scopes look for it, within groups as well
                failure = error
            finally:
                tasks.cancel()
    except BaseException as error:
        if failure is None or not _is_cancellation(error):
            raise
    if failure is not None:
        raise failure


def _has_cancellation(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return error.subgroup(anyio.get_cancelled_exc_class()) is not None
    return _is_cancellation(error)


def _is_cancellation(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return all(_is_cancellation(each) for each in error.exceptions)
    return isinstance(error, anyio.get_cancelled_exc_class())
