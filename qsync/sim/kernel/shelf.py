"""The directories that a simulated machine has or had: a fault may put an older one back."""

from qsync.record import Instance, read_instance
from qsync.sim.kernel.disk import KernelDisk
from qsync.store.contract import Identity


class DirectoryShelf:
    """By instance."""

    def __init__(self, identity: Identity, disk: KernelDisk) -> None:
        self.first = read_instance(identity.instance)
        """The one that it began with."""
        self.identity = identity
        """The identity of the current one."""
        self._known = {self.first: (identity, disk)}

    @property
    def disks(self) -> list[KernelDisk]:
        """The existing ones."""
        return [disk for _, disk in self._known.values()]

    def put(self, instance: Instance, identity: Identity, disk: KernelDisk) -> None:
        """Add another one."""
        self._known[instance] = identity, disk

    def take(self, instance: Instance) -> KernelDisk:
        """Make that one the current directory."""
        self.identity, disk = self._known[instance]
        return disk

    def replace(self, instance: Instance, disk: KernelDisk) -> None:
        """Replace it by a copy."""
        self._known[instance] = self._known[instance][0], disk

    def drop_all_but(self, instance: Instance) -> None:
        """The other ones can no longer be put back."""
        self._known = {instance: self._known[instance]}
