"""Settings that the whole cluster shares: clients change them, nodes say what they follow."""

from qsync.data.operation_kinds import Op
from tests.scenarios.acts import act
from tests.scenarios.acts_clients import transact
from tests.scenarios.stage import Stage


@act
def share(stage: Stage, words: list[str]) -> None:
    """share N OPTION=TEXT|OPTION= ...: a client asks node N to set (or take back) for all nodes."""
    given: dict[str, str | None] = {}
    for word in words[1:]:
        key, _, text = word.partition("=")
        given[key] = text.replace("_", " ") or None
    transact(
        stage, words[0], ("share " + " ".join(words[1:]), [[int(Op.CHANGE_SETTINGS), given]]), []
    )


@act
def follows(stage: Stage, words: list[str]) -> None:
    """follows [N...]: the quorum and the timeouts that nodes follow, and what of it is shared."""
    for me in words or [str(each.me) for each in stage.running]:
        actor = stage.actor(me)
        actor.core.absorb()
        config, shared = actor.machine.config, actor.core.settings
        line = f"quorum={config.quorum} synchro_timeout={config.synchro_timeout:g}"
        line += f" election_timeout={config.election_timeout:g}"
        said = " ".join(f"{key}={text.replace(' ', '_')}" for key, text in sorted(shared.items()))
        stage.say(f"{actor.me}: {line} shared: {said or 'nothing'}")
