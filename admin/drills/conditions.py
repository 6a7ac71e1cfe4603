"""Conditions of a drill file: a probe, and the value to compare it with."""

from collections.abc import Callable, Sequence

from admin.drills.model import Condition
from admin.drills.probes import PROBES, MeasureUnit
from admin.drills.values import bare, number, truth
from qsync import units
from qsync.config.yaml_file import YamlValue

_PARTS = ("probe", "node", "not", "holds", "above", "below", "run", "not_exit")


def read(written: YamlValue, known: Sequence[str]) -> Condition | None:
    """Read a condition. `known`: the names of nodes. Problems are recorded with the file."""
    parts = written.known(_PARTS, "part of a condition")
    if "probe" not in parts:
        if written.table:
            written.complain("does not name a probe")
        return None
    name = parts["probe"].word(list(PROBES), "probe")
    if name is None:
        return None
    probe = PROBES[name]
    parse: Callable[[str], float] = units.duration if probe.scale is MeasureUnit.SECONDS else number
    limits = {side: parts[side].read(parse) for side in ("above", "below") if side in parts}
    _fits(written, parts, name)
    return Condition(
        probe=name,
        node=name_of(parts.get("node"), known),
        other=name_of(parts.get("not"), known),
        holds=_holds(parts),
        above=limits.get("above"),
        below=limits.get("below"),
        run=parts["run"].text() if "run" in parts else None,
    )


def name_of(written: YamlValue | None, known: Sequence[str]) -> str | None:
    """Read the name of a target, or a keyword for nodes."""
    if written is None:
        return None
    text = written.text()
    if text is None or bare(text) in known:
        return None if text is None else bare(text)
    written.word(known, "target")
    return None


def _holds(parts: dict[str, YamlValue]) -> bool:
    if "not_exit" in parts:
        # `not_exit: 0` stops when the command does not end with 0: the condition is its failure.
        parts["not_exit"].word(["0"], "exit code to compare with")
        return False
    return parts["holds"].read(truth) is not False if "holds" in parts else True


def _fits(written: YamlValue, parts: dict[str, YamlValue], name: str) -> None:
    probe = PROBES[name]
    measured = probe.scale is not MeasureUnit.TRUTH
    bounded = bool({"above", "below"} & parts.keys())
    if measured and not bounded:
        written.complain(f"{name} is a measure, so it needs `above` or `below`")
    if bounded and not measured:
        written.complain(f"{name} is true or false, so it takes no `above` or `below`")
    if probe.node != ("node" in parts):
        written.complain(f"{name} {'needs' if probe.node else 'takes no'} `node`")
    if (name == "external") != ("run" in parts):
        written.complain("`run` is valid only with `external`")
    if "not" in parts and not probe.another:
        written.complain(
            "`not` means a leader other than this one; it is valid only with leader_exists"
        )
