"""Checks of the settings: equal on all nodes, consistent, right for the disks, and safe."""

from collections.abc import Iterator

from admin.cluster.shared_settings import PREFERRED, no_members
from admin.doctor.facts import CLUSTER, Facts, Finding, notice, warning
from election import quorum
from qsync import features
from qsync.config import Address
from qsync.member import Standing
from qsync.status.record import NodeStatus

QUORUM = "replication.synchro_quorum"
SHARED = (
    QUORUM,
    "replication.synchro_timeout",
    "replication.synchro_policy",
    "replication.timeout",
    "election.timeout",
    "election.fencing",
    PREFERRED,
    "election.preferred_delay",
)
"""Options that should be equal on all nodes, so that each leader behaves in the same way."""
_NEVER_LEAD = frozenset({Standing.ANONYMOUS, Standing.REMOVED})
WRITES_PER_TIMEOUT_MIN = 5.0
"""How many of the slowest writes must fit into the election timeout."""


def settings_agree(facts: Facts) -> Iterator[Finding]:
    """Quorum and timeouts are the same on all nodes that may lead."""
    may_lead = [node for node in facts.nodes if node.standing not in _NEVER_LEAD]
    for key in SHARED:
        told = {node.name: facts.of(node).text(key) for node in may_lead}
        known = {name: value for name, value in told.items() if value is not None}
        if len({_meant(key, value, facts.survey.voters) for value in known.values()}) > 1:
            said = ", ".join(f"{value} on {name}" for name, value in sorted(known.items()))
            yield warning(
                CLUSTER,
                f"{key} differs: {said}",
                "behaviour changes with every failover: make it the same on all nodes",
            )


def _meant(key: str, text: str, voters: int) -> str:
    """Two formulas with the same value for this cluster, or for every size, do not differ."""
    if key != QUORUM:
        return text
    try:
        return str(quorum.parse(text).of(voters))
    except ValueError:
        return text


def timeouts_fit_disks(facts: Facts) -> Iterator[Finding]:
    """The election timeout is much longer than the slowest write of the log."""
    for node in facts.nodes:
        timeout = facts.of(node).seconds("election.timeout")
        slowest = node.disk.slowest_s
        if timeout is None or slowest is None or slowest * WRITES_PER_TIMEOUT_MIN < timeout:
            continue
        yield warning(
            node.name,
            f"a recent write took {slowest:.2g} s; election.timeout is {timeout:g} s",
            "a slow write looks like a dead leader: raise election.timeout or mend the disk",
        )


def writes_outlive_elections(facts: Facts) -> Iterator[Finding]:
    """Pending transactions wait longer than an election takes."""
    leader = facts.leader
    if leader is None:
        return
    election = facts.of(leader).seconds("election.timeout")
    synchro = facts.of(leader).seconds("replication.synchro_timeout")
    if election is not None and synchro is not None and synchro < election:
        yield notice(
            CLUSTER,
            f"synchro_timeout {synchro:g} s is shorter than election.timeout {election:g} s: "
            "a leader that loses its quorum rolls back before another one can take over",
            "make synchro_timeout the longer one, unless clients should hear soon",
        )


def preferred_exist(facts: Facts) -> Iterator[Finding]:
    """Every preferred leader is a member."""
    leader = facts.leader
    if leader is None:
        return
    unknown = no_members(leader, facts.of(leader).text(PREFERRED) or "")
    if unknown:
        yield notice(
            CLUSTER,
            f"{PREFERRED} names {', '.join(unknown)}, and no member is called that",
            f"`qsync config set {PREFERRED}=NAME,NAME` with names of `qsync member list`",
        )


def listens_safely(facts: Facts) -> Iterator[Finding]:
    """No node listens on a public address without protection."""
    for node in facts.nodes:
        for key in ("listen", "metrics.listen"):
            address = facts.of(node).text(key)
            if address and not Address(address).loopback and not _is_over_tls(facts, node, key):
                yield warning(
                    node.name,
                    f"{key} = {address} is open to the network without TLS",
                    "give it certificates (section `tls`), a firewall or a tunnel, or loopback",
                )
            elif address and not Address(address).loopback and _is_for_all(facts, node, key):
                yield warning(
                    node.name,
                    f"{key} = {address} serves its figures without a token",
                    "name a file with a token in metrics.token_file, and give readers that token",
                )


def _is_for_all(facts: Facts, node: NodeStatus, key: str) -> bool:
    """Whether the metrics need no token."""
    return key == "metrics.listen" and not facts.of(node).text("metrics.token_file")


def _is_over_tls(facts: Facts, node: NodeStatus, key: str) -> bool:
    """Metrics have an option of their own, which can leave them unencrypted under TLS."""
    return node.tls.on and (key == "listen" or facts.of(node).text("tls.metrics") != "false")


def members_prove(facts: Facts) -> Iterator[Finding]:
    """Members authenticate if other machines can reach them, or if the cluster has users.

    And an exception that was made while they got their secret is not left in place.
    """
    for node in facts.nodes:
        address, settings = facts.of(node).text("listen"), facts.of(node)
        if not address or len(node.nodes) < 2:  # noqa: PLR2004 - alone
            continue
        if settings.text("cluster.secret_optional") == "true":
            yield warning(
                node.name,
                "nodes without the cluster's secret are accepted as members",
                "remove cluster.secret_optional when every member has the secret",
            )
        # Other users of the machine reach loopback too, and rights do not restrict a member.
        if Address(address).loopback and features.USERS not in node.upgrade.features:
            continue
        if node.tls.on:
            continue  # members show certificates
        if not settings.text("cluster.secret") and not settings.text("cluster.secret_file"):
            yield warning(
                node.name,
                f"everything that reaches listen = {address} can pretend to be a member",
                "give all members the same cluster.secret or cluster.secret_file",
            )
