"""Changing the schema: spaces, indexes, sequences. Each call is a synchronous transaction."""

from collections.abc import Mapping
from typing import Unpack

from qsync.client import calls, operations, options
from qsync.client.async_.runner import AsyncRunner
from qsync.client.operations import Operation, Parts
from qsync.client.options import Format, SchemaOptions
from qsync.client.rows import Receipt, sequence_value


class AsyncSchema:
    """`db.schema`: spaces, indexes, sequences. Each change is a transaction of its own."""

    def __init__(self, runner: AsyncRunner) -> None:
        self._runner = runner

    async def spaces(self, *, timeout: float | None = None) -> dict[str, object]:  # noqa: ASYNC109 - the caller's word
        """All spaces by name, with format and indexes.

        `field` of a part is counted from 0 there, and from 1 where indexes are created.
        """
        return await self._runner.run(calls.schema(), timeout=timeout)

    async def create_space(
        self,
        name: str,
        *,
        format: Format | None = None,
        is_sync: bool | None = None,
        is_local: bool | None = None,
        if_not_exists: bool = False,
        id: int | None = None,
        primary: Parts | None = None,
        **given: Unpack[SchemaOptions],
    ) -> Receipt:
        """A space with a primary index on its first field, or on `primary` (none for `()`)."""
        operation = operations.create_space(
            name,
            format=format,
            primary=primary,
            is_sync=is_sync,
            is_local=is_local,
            if_not_exists=if_not_exists or None,
            id=id,
        )
        return await self._write(operation, given)

    async def alter_space(
        self,
        space: str,
        *,
        format: Format | None = None,
        is_sync: bool | None = None,
        name: str | None = None,
        **given: Unpack[SchemaOptions],
    ) -> Receipt:
        """Another format, `is_sync` or name. All tuples must fit the new format."""
        operation = operations.alter_space(space, format=format, is_sync=is_sync, name=name)
        return await self._write(operation, given)

    async def drop_space(self, name: str, **given: Unpack[SchemaOptions]) -> Receipt:
        """The space and all that is in it go."""
        return await self._write(operations.drop_space(name), given)

    async def create_index(
        self,
        space: str,
        name: str,
        parts: Parts,
        *,
        unique: bool = True,
        if_not_exists: bool = False,
        **given: Unpack[SchemaOptions],
    ) -> Receipt:
        """An index over `parts`: a field, or a list of fields or `[field, type]`."""
        return await self._write(
            operations.create_index(
                space, name, parts, unique=unique, if_not_exists=if_not_exists or None
            ),
            given,
        )

    async def drop_index(self, space: str, name: str, **given: Unpack[SchemaOptions]) -> Receipt:
        """The index goes, the tuples stay."""
        return await self._write(operations.drop_index(space, name), given)

    async def create_sequence(
        self,
        name: str,
        *,
        start: int = 1,
        step: int = 1,
        if_not_exists: bool = False,
        **given: Unpack[SchemaOptions],
    ) -> Receipt:
        """A sequence of numbers."""
        operation = operations.create_sequence(
            name, start=start, step=step, if_not_exists=if_not_exists or None
        )
        return await self._write(operation, given)

    async def next_value(self, sequence: str, **given: Unpack[SchemaOptions]) -> int:
        """The next number of a sequence; never given twice."""
        return sequence_value(await self._write(operations.next_value(sequence), given))

    async def change_settings(
        self, settings: Mapping[str, str | None], **given: Unpack[SchemaOptions]
    ) -> Receipt:
        """What the whole cluster shares, such as `replication.synchro_quorum`: all or nothing.

        It counts from its place in the log on, also for what is pending. None takes a setting
        back, so that the nodes' own files count again.
        """
        return await self._write(operations.change_settings(settings), given)

    async def _write(self, operation: Operation, given: SchemaOptions) -> Receipt:
        call = options.change(operation, given)
        return await self._runner.run(call, timeout=given.get("timeout"))
