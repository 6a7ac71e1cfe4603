"""An open transaction of a session: statements are tried at once and committed together."""

from typing import Unpack

from qsync.client.async_.database import AsyncDatabase
from qsync.client.async_.transaction import AsyncTransaction, AsyncTransactionSpace
from qsync.client.operations import Operation
from qsync.client.options import WriteOptions
from qsync.client.rows import Receipt
from qsync.wire.verbs import Name


class BoxTransaction:
    """What a session has written and read since `begin`. Serializable: a Conflict at commit
    says that something it read has changed meanwhile, and that nothing was written.
    """  # noqa: D205 - one thought

    def __init__(self, client: AsyncDatabase, given: WriteOptions) -> None:
        self._inner: AsyncTransaction = client.transaction(**given)

    @property
    def size(self) -> int:
        """How many operations it has."""
        return self._inner.size

    def space(self, name: Name) -> AsyncTransactionSpace:
        """Reads inside of the transaction."""
        return self._inner.space(name)

    async def write(self, operation: Operation) -> None:
        """Add a statement. One that is refused is left out, and the transaction goes on."""
        await self._inner.try_write(operation)

    async def commit(self, **given: Unpack[WriteOptions]) -> Receipt | None:
        """Send it. None when there was nothing to be sent."""
        return await self._inner.commit(**given)

    def rollback(self) -> None:
        """Drop it; nothing was sent."""
        self._inner.rollback()
