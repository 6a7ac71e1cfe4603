"""The JSON Schema of drill files, for editors."""

from admin.drills.model import ALL, CHECKS, CLIENTS_MAX, LEADER, Pick, TargetRole
from admin.drills.reader import VERSION
from admin.drills.words import (
    LOSSES,
    MEASURES,
    PROBES,
    SIGNALS,
    VERBS,
    WAYS,
    MeasureUnit,
    OptionKind,
    StepVerb,
    Takes,
)
from admin.workload import load_names

Schema = dict[str, object]

_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "number", "minimum": 0}
_DURATION: Schema = {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?\s*(us|ms|s|m|min|h|d)$"}
_FLAG: Schema = {"type": "boolean"}
_NODES: Schema = {
    "description": f"targets, `{LEADER}` or `{ALL}`",
    "oneOf": [_TEXT, {"type": "array", "items": _TEXT}],
}
_KINDS: dict[OptionKind, Schema] = {
    OptionKind.DURATION: _DURATION,
    OptionKind.NUMBER: _COUNT,
    OptionKind.CHANCE: {"type": ["number", "string"]},
    OptionKind.SIZE: _TEXT,
    OptionKind.FLAG: _FLAG,
    OptionKind.TARGET: _TEXT,
    OptionKind.WAY: {"enum": list(WAYS)},
    OptionKind.SIGNAL: {"enum": list(SIGNALS)},
    OptionKind.LOSS: {"enum": list(LOSSES)},
}


def schema() -> Schema:
    """Of a whole file."""
    condition = _condition()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A failover drill of qsync",
        **_table(
            {
                "drill": _TEXT,
                "version": {"const": VERSION},
                "title": _TEXT,
                "hypothesis": _TEXT,
                "targets": {"type": "object", "additionalProperties": _target()},
                "guards": _guards(),
                "stop_when": {"type": "array", "items": condition},
                "workload": _table(
                    {
                        "kind": {"enum": list(map(str, load_names.LoadKind))},
                        "clients": {"type": "integer", "minimum": 1, "maximum": CLIENTS_MAX},
                        "think": _DURATION,
                    }
                ),
                "steady_state": {"type": "array", "items": condition},
                "options": {
                    "type": "object",
                    "additionalProperties": {"type": ["string", "number"]},
                },
                "method": {"type": "array", "minItems": 1, "items": _step(condition)},
                "heal": {"const": "always"},
                "expect": _expect(),
                "seed": {"type": "integer"},
            },
            required=["drill", "title", "hypothesis", "method"],
        ),
    }


def _table(members: dict[str, Schema], *, required: list[str] | None = None) -> Schema:
    found: Schema = {"type": "object", "additionalProperties": False, "properties": members}
    return found | ({"required": required} if required else {})


def _target() -> Schema:
    picks = [*map(str, Pick), "any"]
    return _table(
        {"role": {"enum": list(map(str, TargetRole))}, "pick": {"enum": picks}, "node": _TEXT}
    )


def _guards() -> Schema:
    require = _table({"cluster_tag": _NODES, "min_voters": {"type": "integer"}, "healthy": _FLAG})
    return _table(
        {
            "require": require,
            "max_nodes_down": {"type": "integer"},
            "never_touch": _NODES,
            "time_limit": _DURATION,
        }
    )


def _condition() -> Schema:
    limit: Schema = {"type": ["number", "string"]}
    return _table(
        {
            "probe": {"enum": list(PROBES)},
            "node": _TEXT,
            "not": _TEXT,
            "holds": _FLAG,
            "above": limit,
            "below": limit,
            "run": _TEXT,
            "not_exit": {"const": 0},
        },
        required=["probe"],
    )


def _step(condition: Schema) -> Schema:
    short: Schema = {"enum": [name for name, verb in VERBS.items() if verb.takes is Takes.NOTHING]}
    return {"oneOf": [short, *(_verb(name, verb, condition) for name, verb in VERBS.items())]}


def _verb(name: str, verb: StepVerb, condition: Schema) -> Schema:
    takes: dict[Takes, Schema] = {
        Takes.NODES: _NODES,
        Takes.NOTHING: {},
        Takes.DURATION: _DURATION,
        Takes.PROBE: condition,
    }
    own = takes[verb.takes] | {"description": verb.about}
    options = {option: _KINDS[kind] for option, kind in verb.options.items()}
    return _table({name: own, **options, "as": _TEXT}, required=[name])


def _expect() -> Schema:
    members: dict[str, Schema] = {
        name: _limit(each.scale) | {"description": each.about} for name, each in MEASURES.items()
    }
    members["checks"] = {"type": "array", "items": {"enum": list(CHECKS)}}
    labels = _limit(MeasureUnit.SECONDS) | {
        "description": "the time of a step that is labelled `as`"
    }
    return {"type": "object", "properties": members, "additionalProperties": labels}


def _limit(scale: MeasureUnit) -> Schema:
    counted = scale is MeasureUnit.COUNT
    below = _table({"below": _COUNT if counted else _DURATION}, required=["below"])
    return {"oneOf": [_COUNT, below]} if counted else below
