"""The JSON Schema of drill files, for editors."""

from admin.drills.measure import MEASURES
from admin.drills.model import ALL, CHECKS, CLIENTS_MAX, LEADER, Pick, TargetRole
from admin.drills.probes import PROBES, MeasureUnit
from admin.drills.reader import VERSION
from admin.drills.values import (
    COUNT_SCHEMA,
    DURATION_SCHEMA,
    FLAG_SCHEMA,
    TEXT_SCHEMA,
    Schema,
)
from admin.drills.verbs.catalogue import VERBS
from admin.drills.verbs.verb import Takes, VerbSpec
from admin.workload import load_names

_NODES: Schema = {
    "description": f"targets, `{LEADER}` or `{ALL}`",
    "oneOf": [TEXT_SCHEMA, {"type": "array", "items": TEXT_SCHEMA}],
}


def schema() -> Schema:
    """Return the schema of a whole file."""
    condition = _condition()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A failover drill of qsync",
        **_table(
            {
                "drill": TEXT_SCHEMA,
                "version": {"const": VERSION},
                "title": TEXT_SCHEMA,
                "hypothesis": TEXT_SCHEMA,
                "targets": {"type": "object", "additionalProperties": _target()},
                "guards": _guards(),
                "stop_when": {"type": "array", "items": condition},
                "workload": _table(
                    {
                        "kind": {"enum": list(map(str, load_names.LoadKind))},
                        "clients": {"type": "integer", "minimum": 1, "maximum": CLIENTS_MAX},
                        "think": DURATION_SCHEMA,
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
                "catches": TEXT_SCHEMA,
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
        {"role": {"enum": list(map(str, TargetRole))}, "pick": {"enum": picks}, "node": TEXT_SCHEMA}
    )


def _guards() -> Schema:
    require = _table(
        {"cluster_tag": _NODES, "min_voters": {"type": "integer"}, "healthy": FLAG_SCHEMA}
    )
    return _table(
        {
            "require": require,
            "max_nodes_down": {"type": "integer"},
            "never_touch": _NODES,
            "time_limit": DURATION_SCHEMA,
        }
    )


def _condition() -> Schema:
    limit: Schema = {"type": ["number", "string"]}
    return _table(
        {
            "probe": {"enum": list(PROBES)},
            "node": TEXT_SCHEMA,
            "not": TEXT_SCHEMA,
            "holds": FLAG_SCHEMA,
            "above": limit,
            "below": limit,
            "run": TEXT_SCHEMA,
            "not_exit": {"const": 0},
        },
        required=["probe"],
    )


def _step(condition: Schema) -> Schema:
    verbs = [verb.spec for verb in VERBS.values()]
    short: Schema = {"enum": [verb.name for verb in verbs if verb.takes is Takes.NOTHING]}
    return {"oneOf": [short, *(_verb(verb, condition) for verb in verbs)]}


def _verb(verb: VerbSpec, condition: Schema) -> Schema:
    takes: dict[Takes, Schema] = {
        Takes.NODES: _NODES,
        Takes.NOTHING: {},
        Takes.DURATION: DURATION_SCHEMA,
        Takes.PROBE: condition,
    }
    own = takes[verb.takes] | {"description": verb.about}
    options = {option: kind.schema for option, kind in verb.options.items()}
    return _table({verb.name: own, **options, "as": TEXT_SCHEMA}, required=[verb.name])


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
    below = _table({"below": COUNT_SCHEMA if counted else DURATION_SCHEMA}, required=["below"])
    return {"oneOf": [COUNT_SCHEMA, below]} if counted else below
