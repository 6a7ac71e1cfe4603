"""The directories that a simulated machine has or had: somebody may put an older one back."""

from qsync.record import Instance, read_instance
from qsync.sim.kernel.disk import KernelDisk
from qsync.store.contract import Identity


class DirectoryShelf:
    """By instance."""

    def __init__(self, identity: Identity, disk: KernelDisk) -> None:
        self.first = read_instance(identity.instance)
        """The one that it began with."""
        self._known = {self.first: (identity, disk)}

    @property
    def disks(self) -> list[KernelDisk]:
        """Of those that there are."""
        return [disk for _, disk in self._known.values()]

    def put(self, instance: Instance, identity: Identity, disk: KernelDisk) -> None:
        """There is another one."""
        self._known[instance] = identity, disk

    def take(self, instance: Instance) -> tuple[Identity, KernelDisk]:
        """That one."""
        return self._known[instance]

    def drop_all_but(self, instance: Instance) -> None:
        """Nobody puts any other one back any more."""
        self._known = {instance: self._known[instance]}
