"""Reads hooks from their file, and reports every problem at once, with line and column."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from admin.drills import values
from admin.drills.hooks import templates
from admin.drills.hooks.model import TIMEOUT_S, DrillHook, HookedNode, HookFile
from admin.drills.hooks.scopes import (
    CLUSTER_FIELD,
    HOOKABLE,
    OWN_FIELDS,
    RECEIVER,
    SAME_HOOK,
    SENDER,
    WITHOUT_HOOK,
    HookScope,
    option_fields,
)
from admin.drills.hooks.templates import CommandTemplate
from admin.lab.lab import NODES_MAX
from qsync.config.yaml_file import YamlValue, read_text, read_whole
from qsync.errors import ConfigError
from qsync.options.value_kinds import nearest

VERSION = "1"
PRESETS = Path(__file__).parent / "presets"
_SUFFIX = ".yaml"
_SECTIONS = ("hooks", "cluster", "timeout", "nodes", "actions")
_NEEDED = ("hooks", "cluster", "nodes", "actions")


def presets() -> list[str]:
    """Return the files in the package that serve as templates."""
    return sorted(path.stem for path in PRESETS.glob(f"*{_SUFFIX}"))


def preset(name: str) -> Path:
    """Return one of these files. Raises ConfigError."""
    if name not in presets():
        raise ConfigError(f"there is no preset {name!r}; there are {', '.join(presets())}")
    return PRESETS / f"{name}{_SUFFIX}"


def load(path: Path) -> HookFile:
    """Read a file. Raises ConfigError with every problem in it."""
    return read_whole(read_text(path), str(path), lambda root: _file(root, path))


def _file(root: YamlValue, path: Path) -> HookFile | None:
    parts = root.known(_SECTIONS, "part of a hooks file")
    missing = [name for name in _NEEDED if name not in parts]
    for name in missing:
        root.problems.add(root.node, name, "is missing")
    if missing:
        return None
    if parts["hooks"].text() != VERSION:
        parts["hooks"].complain(f"is not {VERSION}, the only known version")
    timeout = parts["timeout"].read(values.lasting) if "timeout" in parts else None
    hooks = _hooks(parts["actions"], timeout or TIMEOUT_S)
    nodes = _nodes(parts["nodes"])
    _check_fields(parts["actions"], parts["nodes"], hooks, nodes)
    return HookFile(
        path=path,
        cluster=parts["cluster"].read(_cluster) or "",
        nodes=tuple(nodes),
        hooks=hooks,
    )


def _cluster(text: str) -> str:
    if not text:
        raise ValueError("is empty: write what `cluster.name` is on the nodes")
    return templates.safe_value(text)


def _nodes(written: YamlValue) -> list[HookedNode]:
    found: list[HookedNode] = []
    for name, one in written.members():
        name.read(templates.safe_value)
        fields: dict[str, str] = {}
        for own, value in one.members():
            if own.key in {"node", "port"} or not own.key.isidentifier():
                own.complain(
                    "is not the name of a field that can be set; the port is part of `address`"
                )
            fields[own.key] = value.read(templates.safe_value) or ""
        host, colon, port = fields.get("address", "").rpartition(":")
        host = host.strip("[]")
        if not colon or not host or not port.isdecimal():
            one.complain("needs `address: HOST:PORT`, where the node listens")
            continue
        try:
            own_fields = {"node": name.key, "host": templates.safe_value(host), "port": port}
        except ValueError as error:
            one.complain(f"has the host {host!r}: it {error}")
            continue
        found.append(
            HookedNode(name=name.key, address=fields["address"], fields=own_fields | fields)
        )
    if written.table and not found and not written.problems.found:
        written.complain("names no node")
    if len(found) > NODES_MAX:
        written.complain(f"has {len(found)} nodes; at most {NODES_MAX} are allowed")
    return found


def _hooks(written: YamlValue, timeout: float) -> dict[str, DrillHook]:
    found: dict[str, DrillHook] = {}
    for name, one in written.members():
        if name.key not in HOOKABLE:
            _complain_of_action(name)
            continue
        hook = _hook(name.key, one, timeout)
        if hook is not None:
            found[name.key] = hook
        undone_by = HOOKABLE[name.key].undone_by
        if undone_by is not None and all(each.key != undone_by for each, _ in written.members()):
            name.complain(f"is undone by `{undone_by}`, and no hook does that")
    return found


def _complain_of_action(name: YamlValue) -> None:
    if name.key in WITHOUT_HOOK:
        name.complain("needs no hook: the drill does it over the connections of the nodes")
    elif name.key in SAME_HOOK:
        name.complain(f"is performed by the hook of `{SAME_HOOK[name.key]}`")
    else:
        known = list(HOOKABLE)
        name.complain(
            f"is not an action for hooks; known are {', '.join(known)}",
            meant=nearest(name.key, known),
        )


def _hook(action: str, written: YamlValue, timeout: float) -> DrillHook | None:
    if not written.table:
        command = _command(written, shell=False)
        return (
            None if command is None else DrillHook(action=action, command=command, timeout=timeout)
        )
    parts = written.known(("run", "timeout", "shell"), "part of a hook")
    if "run" not in parts:
        written.complain("has no command `run`")
        return None
    shell = parts["shell"].read(values.truth) is True if "shell" in parts else False
    command = _command(parts["run"], shell=shell)
    own = parts["timeout"].read(values.lasting) if "timeout" in parts else None
    if command is None:
        return None
    return DrillHook(action=action, command=command, timeout=own or timeout)


def _command(written: YamlValue, *, shell: bool) -> CommandTemplate | None:
    words = written.children()
    if words is None:
        return written.read(lambda text: templates.parse(text, shell=shell))
    if shell:
        written.complain("is run by a shell, so it must be a string, not a list")
        return None
    texts = [each.text() for each in words]
    try:
        return templates.from_words([text for text in texts if text is not None])
    except ValueError as error:
        written.complain(str(error))
        return None


def _check_fields(
    actions: YamlValue,
    nodes: YamlValue,
    hooks: Mapping[str, DrillHook],
    there: Sequence[HookedNode],
) -> None:
    """Check that every node has every field of every command."""
    places = {name.key: value for name, value in actions.members()}
    of_nodes = {name.key: value for name, value in nodes.members()}
    set_by_all = sorted({field for node in there for field in node.fields})
    for action, hook in hooks.items():
        link = HOOKABLE[action].scope is HookScope.LINK
        ends = (f"{SENDER}.", f"{RECEIVER}.") if link else ("",)
        known = [f"{end}{name}" for end in ends for name in set_by_all or OWN_FIELDS]
        known += [CLUSTER_FIELD, *option_fields(action)]
        for name in dict.fromkeys(hook.command.fields):
            if name not in known:
                places[action].complain(
                    f"has the field {{{name}}}; there are {', '.join(known)}",
                    meant=nearest(name, known),
                )
                continue
            own = name.partition(".")[2] if link else name
            for node in there if own in set_by_all else ():
                if own not in node.fields:
                    of_nodes[node.name].complain(f"has no `{own}`, which the hook `{action}` uses")
