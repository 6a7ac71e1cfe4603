"""The steps of a drill file: one verb each, with its options."""

from collections.abc import Sequence

from admin.drills import conditions
from admin.drills.model import Step, Value
from admin.drills.values import bare
from admin.drills.verbs.catalogue import VERBS
from admin.drills.verbs.verb import Takes, VerbSpec
from qsync import units
from qsync.config.yaml_file import YamlValue
from qsync.options.value_kinds import nearest

STEPS_MAX = 200
_ALWAYS = ("as",)


def read(written: YamlValue, known: Sequence[str]) -> tuple[Step, ...]:
    """All steps. `known`: the names of nodes. Problems are recorded with the file."""
    items = written.items()
    if len(items) > STEPS_MAX:
        written.complain(f"has {len(items)} steps; at most {STEPS_MAX} are allowed")
    found = [_step(item, known) for item in items]
    if not found:
        written.complain("holds no steps")
    labels = [step.label for step in found if step is not None and step.label]
    for label in {each for each in labels if labels.count(each) > 1}:
        written.complain(f"has two steps `as: {label}`")
    return tuple(step for step in found if step is not None)


def _step(written: YamlValue, known: Sequence[str]) -> Step | None:
    if written.scalar:
        # `- heal` is short for a verb without a value.
        word = written.word(
            [name for name, verb in VERBS.items() if verb.spec.takes is Takes.NOTHING],
            "step without a value",
        )
        return None if word is None else Step(verb=word)
    members = written.members()
    verbs = [(name.key, value) for name, value in members if name.key in VERBS]
    if len(verbs) != 1:
        unknown = [name.key for name, _ in members]
        meant = next((near for word in unknown if (near := nearest(word, list(VERBS)))), None)
        reason = "has no verb" if not verbs else "has two verbs"
        written.problems.add(
            written.node, "step", f"{reason}; verbs are {', '.join(VERBS)}", meant=meant
        )
        return None
    word, value = verbs[0]
    verb = VERBS[word].spec
    parts = written.known([word, *verb.options, *_ALWAYS], f"option of `{word}`")
    options = _options(parts, verb, known)
    if verb.takes is Takes.DURATION:
        options["for"] = value.read(units.duration) or 0.0
    return Step(
        verb=word,
        on=_nodes(value, known) if verb.takes is Takes.NODES else (),
        options=options,
        condition=conditions.read(value, known) if verb.takes is Takes.PROBE else None,
        label=parts["as"].text() if "as" in parts else None,
    )


def _options(parts: dict[str, YamlValue], verb: VerbSpec, known: Sequence[str]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for name, kind in verb.options.items():
        if name not in parts:
            continue
        if kind.target:
            conditions.name_of(parts[name], known)
        value = parts[name].read(kind.parse)
        if value is not None:
            found[name] = value
    return found


def _nodes(written: YamlValue, known: Sequence[str]) -> tuple[str, ...]:
    texts = [conditions.name_of(item, known) for item in written.items()]
    return tuple(bare(text) for text in texts if text is not None)
