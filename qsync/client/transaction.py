"""The transactions of both surfaces, for those who annotate functions that take one."""

from qsync.client.async_.transaction import AsyncTransaction
from qsync.client.sync.transaction import Transaction

__all__ = ["AsyncTransaction", "Transaction"]
