"""The name of a simulated directory, with its owner."""

from pathlib import Path

from qsync.store.contract import Identity


class KernelDirectory:
    """See `contract.StoreDirectory`."""

    path = Path("/nowhere")
    format = 0

    def __init__(self, identity: Identity) -> None:
        self.identity = identity

    def close(self) -> None:
        """Other directories may have it."""
