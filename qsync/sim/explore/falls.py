"""How a node of the explored cluster ends, and begins again: by itself, or with another release."""

from collections.abc import Callable

from qsync.core.inputs import SupersededBy
from qsync.errors import WrongFormat
from qsync.sim.explore.host import ExploredNode
from qsync.sim.explore.scope import FEATURE


def crash_node(host: ExploredNode, what: object) -> None:
    """The process ends, and with it what was not durable."""
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
    """Unless the former release does not start on this log: then the newer one is there again."""
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
    """Its disk is lost, and there is an empty one."""
    _lose_log(host, what, host.platter.wipe)
    host.happened("wiped")


def damage_node(host: ExploredNode, what: object) -> None:
    """Its log is found damaged."""
    _lose_log(host, what, host.platter.damage)
    host.happened("damaged")


def _lose_log(host: ExploredNode, what: object, befall: Callable[[], None]) -> None:
    """It begins again without its entries, of which it is remembered which they were."""
    assert isinstance(what, tuple)
    host.begin()
    host.diary.lost_crcs = tuple([int(each.crc) for each in host.platter.entries])
    befall()
    host.restart(what)


def supersede_node(host: ExploredNode, _what: object) -> None:
    """It is proved to it that a cluster was made of its own; its directory says so from now on."""
    host.begin()
    host.platter.superseded = "the next"
    host.step(SupersededBy(cluster=host.platter.superseded))
