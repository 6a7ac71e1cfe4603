"""Features of the log at a replica: who knows them, when they are enabled, who must not go on.

The rule (protocol.md section 7): an entry that needs a feature is behind the entry that enables it,
and that one is made only when every node that the log may be sent to knows the feature. So no node
ever has an entry that it cannot read, whichever members are upgraded in which order.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from qsync import errors, features
from qsync.core.config import CoreConfig
from qsync.core.inputs import Disconnected
from qsync.core.machine import Machine
from qsync.data.operation_kinds import Op
from qsync.data.request import Request
from qsync.options.core_options import EnableFeatures

_HINT: Final = (
    "start the release that wrote it, or a newer one: there is no way back from a feature"
)


def misfits(machine: Machine, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    """Why a change of the shared settings must not be, for the features that it names."""
    was, wanted = features.enabled(before), features.enabled(after)
    for name in sorted(was - wanted):
        yield f"{features.SETTING}: {name} cannot be taken back, entries may need it already"
    new = wanted - was
    if new:
        yield from (f"{features.SETTING}: {why}" for why in unready(machine, new))


def unready(machine: Machine, wanted: frozenset[str]) -> list[str]:
    """Return why the log may not use these features yet, in words, for each node it may go to."""
    return [*lacking(machine, wanted), *unheard(machine)]


def lacking(machine: Machine, wanted: frozenset[str]) -> list[str]:
    """Which of the nodes that the log may be sent to do not know these features, in words."""
    known = {int(machine.config.me): machine.config.features}
    for peer, progress in machine.peers.items():
        if progress.features is not None:
            known[int(peer)] = progress.features
    missing = {node: features.lacking(wanted, theirs) for node, theirs in sorted(known.items())}
    return [f"node {node} does not know {what}" for node, what in missing.items() if what]


def unheard(machine: Machine) -> list[str]:
    """Which of the nodes that the log may be sent to have told no features yet, in words."""
    silent = sorted(int(peer) for peer, told in machine.peers.items() if told.features is None)
    return [f"node {node} was not heard yet, so nobody knows its features" for node in silent]


def outdated(machine: Machine, shared: Mapping[str, str]) -> list[Disconnected]:
    """Connections to peers that do not know what the log uses by now: they were let in before it.

    Such a peer knew it once, or it would not be enabled, and went back to an older release.
    """
    wanted = features.enabled(shared)
    return [
        Disconnected(peer=peer, epoch=progress.epoch, refused=False)
        for peer, progress in machine.peers.items()
        if progress.connected and progress.features is not None and wanted - progress.features
    ]


def next_step(machine: Machine, settings: Mapping[str, str]) -> Request | None:
    """The entry that enables what everybody knows now; None when there is nothing to enable."""
    config, leader = machine.config, machine.leader
    here = features.enabled(settings)
    new = features.due(config.features, here)
    if not new or leader is None or config.enable_features is not EnableFeatures.AUTO:
        return None
    if machine.reasons():
        return None
    ready = frozenset(name for name in new if not unready(machine, frozenset({name})))
    if not ready:
        return None
    text = features.text_of(here | ready)
    return Request(ops=[[int(Op.CHANGE_SETTINGS), {features.SETTING: text}]])


def refuse_unknown(config: CoreConfig, settings: Mapping[str, str]) -> None:
    """Raises WrongFormat when the log names a feature that this release does not know."""
    why = features.lacking(features.enabled(settings), config.features)
    if why:
        raise errors.WrongFormat(
            f"the log of this cluster uses {why}, which this release does not know", hint=_HINT
        )


def admit(settings: Mapping[str, str], who: str, known: frozenset[str]) -> None:
    """Check that a peer's release can read this log. Raises WrongVersion."""
    why = features.misfit(features.enabled(settings), who, known)
    if why is not None:
        raise errors.WrongVersion(why, hint=f"upgrade {who}")
