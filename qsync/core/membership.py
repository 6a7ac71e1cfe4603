"""Who the voters are, as a running node follows its log; and whether a node is one of them."""

from dataclasses import replace
from typing import TYPE_CHECKING

from election.messages import Replica
from election.quorum import majority
from qsync.core.config import CoreConfig
from qsync.core.configuration import Configuration
from qsync.core.progress import Membership
from qsync.record import Instance

if TYPE_CHECKING:
    from qsync.core.machine import Machine


def is_named(config: CoreConfig, configuration: Configuration | None) -> bool:
    """Is this very directory a voter?"""
    return configuration is not None and configuration.names(config.me, config.instance)


def counts(machine: "Machine") -> bool:
    """The node votes and its acks count: it is a voter that has forgotten nothing."""
    return machine.raft.electorate.named and machine.raft.ballot.member


def names(machine: "Machine", replica: Replica, instance: Instance | None) -> bool:
    """Does the configuration that is followed name this very pair (membership.md M1 d)?"""
    configuration = machine.ledger.configurations.followed
    return configuration is not None and configuration.names(replica, instance)


def may_be_asked(machine: "Machine", replica: Replica) -> bool:
    """Is that peer, as far as we know, the voter that the configuration names under its id?

    Who runs on another directory is not asked for the vote of the one that was lost.
    """
    progress = machine.peers.get(replica)
    if progress is None:
        return False
    return progress.instance is None or names(machine, replica, progress.instance)


def follow(machine: "Machine") -> None:
    """Count by the configuration in force in the log, from where it was appended (M1 b)."""
    configurations = machine.ledger.configurations
    configuration = configurations.in_force
    if configuration is configurations.followed:
        return
    configurations.followed = configuration
    if configuration is not None:
        take(machine, replace(machine.config, voters=configuration.replicas))
    for progress in machine.peers.values():
        named = names(machine, progress.peer, progress.instance)
        if named != (progress.membership is not Membership.STRANGER):
            # Whether a newcomer has forgotten something is in its next answer.
            progress.membership = Membership.RECRUIT if named else Membership.STRANGER
    voters, named = machine.config.voters, is_named(machine.config, configuration)
    machine.raft.set_voters(voters, majority(len(voters)), named=named)
    machine.out.note("configuration", voters=list(voters), named=named)


def take(machine: "Machine", config: CoreConfig) -> None:
    """Everything that has a copy of the configuration gets this one."""
    machine.config = config
    machine.follower.config = config
    leader = machine.leader
    if leader is not None:
        leader.config = leader.rounds.config = config
