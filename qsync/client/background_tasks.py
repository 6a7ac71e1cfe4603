"""Tasks that run beside a block and end with it; what the block raises comes out as it is."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import anyio.abc


@asynccontextmanager
async def background_tasks() -> AsyncGenerator[anyio.abc.TaskGroup]:
    """A group for tasks that are cancelled when the block ends.

    An error of the block is not put into an ExceptionGroup. That goes for SystemExit, Ctrl-C and
    `pytest.skip()`, too: nobody would know them in one. Nor is it lost if the caller is cancelled
    while the tasks end.
    """
    failure: BaseException | None = None
    try:
        async with anyio.create_task_group() as group:
            try:
                yield group
            except BaseException as error:
                if _has_cancellation(error):
                    raise  # its scopes look for it, within groups as well
                failure = error
            finally:
                group.cancel_scope.cancel()
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
