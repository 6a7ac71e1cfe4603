"""The one act that makes a cluster: its directories, each with the pairs that are its voters."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from election.messages import Replica
from qsync.errors import ConfigError
from qsync.store.contract import Identity
from qsync.store.directory import Directory, is_formatted
from qsync.store.opening import open_log


@dataclass(frozen=True, slots=True, kw_only=True)
class Founder:
    """A voter of the cluster that is to be: its place, and where its directory is made."""

    replica: Replica
    name: str
    path: Path


def found(cluster: str, founders: Iterable[Founder]) -> list[Identity]:
    """Make the directories of a new cluster, in the order of `founders`.

    Every directory holds the first configuration: the pair (replica id, instance id) of each voter
    (membership.md M1 c). That is the same as if all had received it as the base of one log. A
    directory that is made in any other way belongs to a stranger, which founds nothing.

    Raises ConfigError when one of the directories is in use, and then none is made; StoreError.
    """
    members = list(founders)
    for each in members:
        if is_formatted(each.path):
            raise ConfigError(
                f"{each.path} belongs to a node already",
                hint="found a cluster in directories that are empty",
            )
    voters = tuple(sorted((each.replica, str(uuid.uuid4())) for each in members))
    instances = dict(voters)
    made: list[Identity] = []
    for each in members:
        identity = Identity(
            cluster=cluster,
            instance=instances[each.replica],
            replica=each.replica,
            name=each.name,
            founders=voters,
        )
        with Directory(each.path, wanted=identity) as directory:
            # A directory with an identity and without a log has lost the log.
            open_log(directory).close()
            made.append(directory.identity)
    return made
