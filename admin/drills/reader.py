"""Reads a drill from its file, and reports every problem at once, with line and column."""

from collections.abc import Mapping
from dataclasses import fields, replace
from importlib.metadata import entry_points
from pathlib import Path

from admin.drills import conditions, overrides, steps, values
from admin.drills.measure import MEASURES
from admin.drills.model import (
    ALL,
    CHECKS,
    CLIENTS_MAX,
    LEADER,
    Condition,
    Drill,
    DrillTarget,
    Expectations,
    Guards,
    LoadSpec,
    Pick,
    Step,
    TargetRole,
)
from admin.drills.probes import MeasureUnit
from admin.drills.values import number, truth
from admin.lab.lab import NODES_MAX
from admin.workload import load_names
from qsync import units
from qsync.config.yaml_file import YamlValue, read_text, read_whole
from qsync.errors import ConfigError

VERSION = 1
SUFFIX = ".yaml"
PLUGINS = "qsync.drills"
"""Entry points of this group name folders (`pathlib.Path`) with drill files."""
CATALOGUE = Path(__file__).parent / "catalogue"
SEED_MAX = 2**63 - 1
_SECTIONS = (
    "drill",
    "version",
    "title",
    "hypothesis",
    "targets",
    "guards",
    "stop_when",
    "workload",
    "steady_state",
    "options",
    "method",
    "heal",
    "expect",
    "seed",
    "catches",
)
_NEEDED = ("drill", "title", "hypothesis", "method")


def names() -> list[str]:
    """Return the drills that come with the package, and those of plugins."""
    return sorted(_catalogue())


def own_names() -> list[str]:
    """Return the drills that come with the package."""
    return sorted(path.stem for path in CATALOGUE.glob(f"*{SUFFIX}"))


def _catalogue() -> dict[str, Path]:
    """Return files by name. A plugin cannot replace a drill of the package."""
    found: dict[str, Path] = {}
    for plugin in entry_points(group=PLUGINS):
        folder = plugin.load()
        if not isinstance(folder, Path):
            raise ConfigError(
                f"the plugin {plugin.name} of {PLUGINS} does not name a folder: {folder!r}"
            )
        found |= {path.stem: path for path in folder.glob(f"*{SUFFIX}")}
    return found | {name: CATALOGUE / f"{name}{SUFFIX}" for name in own_names()}


def find(word: str) -> Path:
    """Return the file of a drill: a path, or a name of the catalogue. Raises ConfigError."""
    if word.endswith((SUFFIX, ".yml")) or "/" in word:
        return Path(word)
    own = CATALOGUE / f"{word}{SUFFIX}"
    if own.exists():
        return own  # no plugin can replace it, so plugins are not loaded
    known = _catalogue()
    if word not in known:
        if Path(word).is_file():
            return Path(word)
        raise ConfigError(
            f"there is no drill {word!r}", hint="`qsync drill list` shows them; or give a file"
        )
    return known[word]


def load(path: Path, given: Mapping[str, str] | None = None) -> Drill:
    """Read a file and override it by `given` values. Raises ConfigError with every problem."""
    return parse(read_text(path), where=str(path), given=given)


def parse(text: str, *, where: str, given: Mapping[str, str] | None = None) -> Drill:
    """Read YAML text. Raises ConfigError with every problem in it."""

    def read(root: YamlValue) -> Drill | None:
        overrides.put(root, given or {})
        return _drill(root)

    return read_whole(text, where, read)


def _drill(root: YamlValue) -> Drill | None:
    parts = root.known(_SECTIONS, "part of a drill")
    for name in _NEEDED:
        if name not in parts:
            root.problems.add(root.node, name, "is missing")
    if "version" in parts and parts["version"].text() != str(VERSION):
        parts["version"].complain(f"is not {VERSION}, the only known version")
    if "heal" in parts:
        parts["heal"].word(["always"], "way to heal")
    targets = _targets(parts["targets"]) if "targets" in parts else {}
    known = [*targets, LEADER, ALL]
    method = steps.read(parts["method"], known) if "method" in parts else ()
    limits = _expect(parts["expect"], method) if "expect" in parts else Expectations()
    if root.problems.found and any(name not in parts for name in _NEEDED):
        return None
    return Drill(
        name=parts["drill"].read(values.name) or "",
        title=parts["title"].text() or "",
        hypothesis=parts["hypothesis"].text() or "",
        targets=targets,
        guards=_guards(parts["guards"]) if "guards" in parts else Guards(),
        stop_when=_conditions(parts.get("stop_when"), known),
        load=_load(parts["workload"]) if "workload" in parts else LoadSpec(),
        steady_state=_conditions(parts.get("steady_state"), known),
        options=_options(parts["options"]) if "options" in parts else {},
        method=method,
        expect=limits,
        catches=parts["catches"].text() if "catches" in parts else None,
        seed=(parts["seed"].read(values.whole(-SEED_MAX, SEED_MAX)) or 0) if "seed" in parts else 1,
    )


def _targets(value: YamlValue) -> dict[str, DrillTarget]:
    found: dict[str, DrillTarget] = {}
    for name, one in value.members():
        if name.key in {LEADER, ALL}:
            one.complain(f"{name.key!r} is a keyword; choose another name")
            continue
        parts = one.known(("role", "pick", "node"), "part of a target")
        role = (
            parts["role"].word([str(role) for role in TargetRole], "role")
            if "role" in parts
            else TargetRole.ANY
        )
        pick = (
            parts["pick"].word([*map(str, Pick), "any"], "way to pick")
            if "pick" in parts
            else Pick.FIRST
        )
        if {"node", "role"} <= parts.keys():
            one.complain("has both `node` and `role`; use one of them")
        found[name.key] = DrillTarget(
            role=TargetRole(role or TargetRole.ANY),
            pick=Pick.RANDOM if pick == "any" else Pick(pick or Pick.FIRST),
            node=parts["node"].text() if "node" in parts else None,
        )
    return found


def _guards(value: YamlValue) -> Guards:
    parts = value.known(("require", "max_nodes_down", "never_touch", "time_limit"), "guard")
    guards = Guards()
    if "require" in parts:
        wanted = parts["require"].known(
            ("cluster_tag", "min_voters", "healthy"), "thing to require"
        )
        if "cluster_tag" in wanted:
            tags = [item.text() or "" for item in wanted["cluster_tag"].items()]
            guards = replace(guards, cluster_tags=tuple(tags))
        if "min_voters" in wanted:
            voters = wanted["min_voters"].read(values.whole(1, NODES_MAX))
            guards = replace(guards, min_voters=voters or 1)
        if "healthy" in wanted:
            guards = replace(guards, healthy=wanted["healthy"].read(truth) is True)
    if "max_nodes_down" in parts:
        down = parts["max_nodes_down"].read(values.whole(0, NODES_MAX))
        guards = replace(guards, max_nodes_down=down)
    if "never_touch" in parts:
        nodes = tuple(item.text() or "" for item in parts["never_touch"].items())
        guards = replace(guards, never_touch=nodes)
    if "time_limit" in parts:
        limit = parts["time_limit"].read(values.lasting)
        guards = replace(guards, time_limit=limit or guards.time_limit)
    return guards


def _load(value: YamlValue) -> LoadSpec:
    parts = value.known([each.name for each in fields(LoadSpec)], "option of the workload")
    load = LoadSpec()
    if "kind" in parts:
        word = parts["kind"].word([*map(str, load_names.LoadKind)], "kind of load")
        load = replace(load, kind=load_names.LoadKind(word or load_names.LoadKind.MIXED))
    if "clients" in parts:
        clients = parts["clients"].read(values.whole(1, CLIENTS_MAX))
        load = replace(load, clients=clients or load.clients)
    if "think" in parts and (think := parts["think"].read(units.duration)) is not None:
        load = replace(load, think=think)
    return load


def _conditions(value: YamlValue | None, known: list[str]) -> tuple[Condition, ...]:
    if value is None:
        return ()
    found = [conditions.read(item, known) for item in value.items()]
    return tuple(each for each in found if each is not None)


def _options(value: YamlValue) -> dict[str, str]:
    return {name.key: value.text() or "" for name, value in value.members()}


def _expect(value: YamlValue, method: tuple[Step, ...]) -> Expectations:
    labels = [step.label for step in method if step.label]
    parts = value.known([*MEASURES, *labels, "checks"], "measure or label of a step")
    checks = Expectations().checks
    if "checks" in parts:
        words = [item.word(list(CHECKS), "check") for item in parts["checks"].items()]
        checks = tuple(word for word in words if word is not None)
    limits: dict[str, float] = {}
    for name, written in parts.items():
        limit = None if name == "checks" else _limit(name, written)
        if limit is not None:
            limits[name] = limit
    return Expectations(limits=limits, checks=checks)


def _limit(name: str, value: YamlValue) -> float | None:
    """Read a limit: `{below: 5s}`, or a plain number for a count."""
    counted = name in MEASURES and MEASURES[name].scale is MeasureUnit.COUNT
    parse = number if counted else units.duration
    if value.table:
        inner = value.known(("below",), "limit")
        if "below" not in inner:
            value.complain("needs a limit: `{below: ...}`")
            return None
        return inner["below"].read(parse)
    if not counted:
        value.complain("is a measure, so it needs a limit: `{below: 5s}`")
        return None
    return value.read(parse)
