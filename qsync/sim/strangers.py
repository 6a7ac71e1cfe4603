"""A broken rule of membership: voters are known by id, and a new directory passes for one."""

from typing_extensions import override

from election.messages import Replica
from qsync.core.configuration import Configuration, Configurations
from qsync.record import Instance
from qsync.replica import Replica as Core


class _ById(Configuration):
    @override
    def names(self, replica: Replica, instance: Instance | None) -> bool:
        """Whoever has the id, on whatever directory."""
        return replica in self.replicas


class _AllById(Configurations):
    @property
    @override
    def in_force(self) -> Configuration | None:
        """The same object for as long as the voters are the same."""
        found, known = super().in_force, self.followed
        if found is None or (known is not None and known.voters == found.voters):
            return known if found is not None else None
        return _ById(found.voters)


def pair_ignored(core: Core) -> None:
    """Votes and acks are counted by replica id (membership.md M1 d is gone)."""
    configurations = core.machine.ledger.configurations
    configurations.__class__ = _AllById
    if configurations.followed is not None:
        configurations.followed = _ById(configurations.followed.voters)
