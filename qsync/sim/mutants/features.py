"""Broken rules of log features: which nodes must know one before it is used (protocol.md 7)."""

from collections.abc import Mapping

from qsync import features, upgrading
from qsync.core.inputs import Input, TimerFired
from qsync.core.ready import TimerKind
from qsync.data.operation_kinds import Op
from qsync.data.request import Request
from qsync.replica import Replica as Core
from qsync.sim.mutants.mutant import Mutant, put


def _enabled_alone(core: Core) -> None:
    honest = core.step

    def step(event: Input) -> None:
        honest(event)
        here = features.enabled(core.settings)
        due = features.due(core.machine.config.features, here)
        beat = isinstance(event, TimerFired) and event.kind == TimerKind.HEARTBEAT
        if beat and due and not core.machine.reasons():
            text = features.text_of(here | due)
            core.submit(None, Request(ops=[[int(Op.CHANGE_SETTINGS), {features.SETTING: text}]]))

    def unchecked(_shared: Mapping[str, str]) -> None:
        """Whatever the others know."""

    put(core, step=step, _check_settings=unchecked)


def _outdated_is_sent_on(core: Core) -> None:
    def obey() -> None:
        """Whoever was let in is sent the log."""
        shared = core._state.schemas.head.settings
        if shared != core.settings:
            upgrading.refuse_unknown(core._own, shared)
            core.settings = shared
            core._follow_settings()

    put(core, _obey=obey)


FEATURES = (
    Mutant(
        name="outdated_is_sent_on",
        rule="protocol.md 7",
        without="a downgraded node is sent a log that it cannot read",
        remodel=_outdated_is_sent_on,
    ),
    Mutant(
        name="feature_enabled_alone",
        rule="protocol.md 7",
        without="a leader enables a feature that other nodes do not know",
        remodel=_enabled_alone,
    ),
)
