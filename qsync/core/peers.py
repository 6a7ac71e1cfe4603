"""The peers of a node: members of the configuration, and strangers while they are connected."""

from election.messages import Replica
from qsync.core.configuration import Configuration
from qsync.core.progress import Progress

Peers = dict[Replica, Progress]


def follow_members(peers: Peers, configuration: Configuration, *, me: Replica) -> None:
    """Make peers of all members, and forget those that left the configuration.

    Out means out of sight, too: a stranger that is connected wants to join, or was removed and has
    to be told so (membership.md M4 f).
    """
    for member in configuration.members:
        if member.replica != me and member.replica not in peers:
            peers[member.replica] = Progress(member.replica)
    for progress in list(peers.values()):
        progress.take_role(configuration.role_of(progress.peer, progress.instance))
        forget_stranger(peers, progress, configuration)


def forget_stranger(peers: Peers, progress: Progress, configuration: Configuration | None) -> None:
    """Forget a peer that is no member and has no connection."""
    if configuration is None or progress.connected:
        return
    if configuration.member(progress.peer) is None:
        del peers[progress.peer]
