"""The transaction classes of both surfaces, for annotations."""

from qsync.client.async_.transaction import AsyncTransaction
from qsync.client.sync.transaction import Transaction

__all__ = ["AsyncTransaction", "Transaction"]
