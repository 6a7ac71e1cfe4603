"""The actions that hooks can perform, with the scope and fields of their commands."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

CLUSTER_FIELD = "cluster"
OWN_FIELDS = ("node", "address", "host", "port")
"""Fields that every node has: its name, its address, and the address's host and port."""
SENDER, RECEIVER = "from", "to"
"""Prefixes of the fields of a link: messages of `from` reach `to`."""


class HookScope(StrEnum):
    """The scope of a command: how often it runs for a step."""

    NODE = "node"
    """Once for each node of the step."""
    LINK = "link"
    """Once for each direction between two nodes."""
    EVERY_NODE = "every node"
    """Once for every node of the cluster, independent of the step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookableAction:
    """An action that a hook can do. `undone_by`: the action whose hook is required too.

    `defaults`: fields from the step's options, with their default values.
    """

    about: str
    scope: HookScope = HookScope.NODE
    undone_by: str | None = None
    defaults: Mapping[str, str | float | bool] = field(default_factory=dict)
    loses_data: bool = False


_LINK = HookScope.LINK
HOOKABLE: Mapping[str, HookableAction] = {
    "kill": HookableAction(
        about="ends the process with {signal} and returns when it is gone",
        undone_by="start",
        defaults={"signal": "KILL"},
    ),
    "start": HookableAction(about="starts the process, unless it runs"),
    "pause": HookableAction(about="stops the process with SIGSTOP", undone_by="resume"),
    "resume": HookableAction(about="continues the process with SIGCONT"),
    "starve": HookableAction(
        about="takes CPU time from the process",
        undone_by="feed",
        defaults={"on": 0.05, "off": 0.2},
    ),
    "feed": HookableAction(about="ends `starve`"),
    "restart": HookableAction(
        about="stops the process with SIGTERM and starts it again", undone_by="start"
    ),
    "wipe": HookableAction(
        about="deletes the data of a stopped node, not its configuration", loses_data=True
    ),
    "tear": HookableAction(about="cuts the end of a stopped node's log short", loses_data=True),
    "flip": HookableAction(about="flips a bit of a stopped node's log", loses_data=True),
    "fill": HookableAction(about="fills the disk of the node", undone_by="free"),
    "free": HookableAction(about="ends `fill`"),
    "stall_fsync": HookableAction(
        about="makes the disk of the node slow", undone_by="disarm", defaults={"delay": 0.2}
    ),
    "fail_fsync": HookableAction(about="makes the disk of the node fail", undone_by="disarm"),
    "jump_clock": HookableAction(
        about="sets the wall clock of the host ahead or behind",
        undone_by="disarm",
        defaults={"ahead": 0.0, "behind": 0.0},
    ),
    "disarm": HookableAction(about="ends `stall_fsync`, `fail_fsync` and `jump_clock`"),
    "remove": HookableAction(about="removes the node from the configuration", undone_by="add"),
    "add": HookableAction(about="makes the node a member again"),
    "cut": HookableAction(
        about="drops all messages from `from` to `to`; also for `ring` and `bridge`",
        scope=_LINK,
        undone_by="mend",
        defaults={"refuse": False},
    ),
    "slow": HookableAction(
        about="delays messages from `from` to `to`",
        scope=_LINK,
        undone_by="mend",
        defaults={"delay": 0.0, "jitter": 0.0, "rate": 0.0, "stall": 0.0},
    ),
    "reset": HookableAction(about="breaks the connections of `from` to `to` once", scope=_LINK),
    "mend": HookableAction(about="ends `cut` and `slow` at the node", scope=HookScope.EVERY_NODE),
}
"""By the verb of a drill."""

SAME_HOOK: Mapping[str, str] = {"ring": "cut", "bridge": "cut"}
"""Actions that are variants of another one, for other links."""
WITHOUT_HOOK = frozenset(
    {"wait", "until", "heal", "pause_load", "resume_load", "promote", "demote"}
)
"""Actions that need no hook: the drill does them itself, or requests them from a node."""


def hook_name(action: str) -> str:
    """Return the name of the hook that performs an action."""
    return SAME_HOOK.get(action, action)


def milliseconds(option: str) -> str:
    """Return the field that has the option in whole milliseconds."""
    return f"{option}_ms"


def option_fields(action: str) -> dict[str, str]:
    """Return the fields of an action's options, for a step that sets none of them."""
    return texts(HOOKABLE[action].defaults)


def texts(options: Mapping[str, str | float | bool]) -> dict[str, str]:
    """Return options as fields: numbers also in thousandths, booleans as `true` and `false`."""
    found: dict[str, str] = {}
    for name, value in options.items():
        if isinstance(value, bool):
            found[name] = "true" if value else "false"
        elif isinstance(value, float):
            found[name] = f"{value:g}"
            found[milliseconds(name)] = f"{round(value * 1000)}"
        else:
            found[name] = value
    return found
