"""The name of a simulated directory: whose it is."""

from pathlib import Path

from qsync.store.contract import Identity


class KernelDirectory:
    """See `contract.StoreDirectory`."""

    path = Path("/nowhere")
    format = 0

    def __init__(self, identity: Identity) -> None:
        self.identity = identity

    def close(self) -> None:
        """Others may have it."""
