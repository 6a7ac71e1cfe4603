"""How a node of the explored cluster stops and restarts, also with another release."""

from collections.abc import Callable

from election.messages import Index, Term
from qsync.core.inputs import SupersededBy
from qsync.core.replicated_log import ReplicatedLog
from qsync.errors import WrongFormat
from qsync.member import Member
from qsync.record import Instance
from qsync.sim.explore.host import ExploredNode, PeerConnection
from qsync.sim.explore.members import IdCodec
from qsync.sim.explore.scope import FEATURE
from qsync.sim.generations import begin_anew


def crash_node(host: ExploredNode, what: object) -> None:
    """The process ends and loses everything that was not durable."""
    assert isinstance(what, tuple)
    host.begin()
    host.platter.crash()
    host.restart(what)
    host.happened("crash")


def upgrade_node(host: ExploredNode, what: object) -> None:
    """It is restarted with a release that knows FEATURE."""
    host.diary.release.features = FEATURE
    crash_node(host, what)
    host.happened("upgraded")


def downgrade_node(host: ExploredNode, what: object) -> None:
    """If the older release does not start on this log, the newer one is started again."""
    before, host.diary.release.features = host.diary.release.features, frozenset()
    try:
        crash_node(host, what)
    except WrongFormat:
        host.diary.release.features = before
        crash_node(host, what)
        host.happened("downgrade refused")


def start_node(host: ExploredNode, what: object) -> None:
    """The first process on an empty disk."""
    assert isinstance(what, tuple)
    host.begin()
    host.restart(what)


def wipe_node(host: ExploredNode, what: object) -> None:
    """Its disk is lost and replaced by an empty one of the newest existing cluster."""

    def wipe() -> None:
        host.platter.wipe()
        assert isinstance(what, tuple)
        for each in what:
            assert isinstance(each, PeerConnection)
            if each.cluster.generation > host.platter.cluster.generation:
                host.platter.cluster = each.cluster
                host.diary = host.diary.elsewhere()

    _lose_log(host, what, wipe)
    host.happened("wiped")


def survives(host: ExploredNode) -> bool:
    """Whether a cluster may be recovered from it: its log must have the members of its cluster."""
    configuration = host.replicated_log.configurations.in_force
    return configuration is not None and not host.platter.superseded


def force_node(host: ExploredNode, what: object) -> None:
    """An operator recovers a cluster from its disk, and starts the new one.

    It is the same node with another directory, and its diary continues: the new cluster is checked
    against its earlier answers and confirmed entries.
    """
    assert isinstance(what, tuple)
    host.begin()
    platter, rules = host.platter, host.plan.generations
    platter.crash()
    last, codec = Index(len(platter.entries)), IdCodec()
    log = ReplicatedLog(
        confirmed=last,
        recent_bytes_max=1 << 20,
        tail=platter.read,
        founding=platter.founding(host.plan.founders),
        codec=codec,
        start=platter.start,
    )
    log.recover(platter.stored())
    seen = Term(max(platter.ballot.term, log.log.position.term))
    member = Member(host.me, Instance(platter.instance + 1))
    cluster = begin_anew(
        rules, platter.cluster, log, member, codec=codec, confirmed=platter.confirmed
    )
    platter.begin_anew(cluster, member.instance, rules.first_term(seen))
    host.restart(what)
    host.happened("forced")


def damage_node(host: ExploredNode, what: object) -> None:
    """Its log is found damaged."""
    _lose_log(host, what, host.platter.damage)
    host.happened("damaged")


def _lose_log(host: ExploredNode, what: object, befall: Callable[[], None]) -> None:
    """It restarts without its entries; the diary remembers them."""
    assert isinstance(what, tuple)
    host.begin()
    host.diary.lost_crcs = tuple([int(each.crc) for each in host.platter.entries])
    befall()
    host.restart(what)


def supersede_node(host: ExploredNode, _what: object) -> None:
    """It learns that a cluster was recovered from its own; its directory records this."""
    host.begin()
    host.platter.superseded = "the next"
    host.step(SupersededBy(cluster=host.platter.superseded))
