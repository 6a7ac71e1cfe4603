"""Every event has a sentence, and the code that tells of it has the fields for that."""

import ast
import functools
import string
from collections.abc import Iterator

import pytest

from qsync.happenings import HAPPENINGS, Gravity, sentence, severity_of
from tests.repo import tree

TELL = {"add_event", "append", "say", "tell", "Note", "_say", "_alarm"}
"""What events are told by; `append` of lists takes no name and no fields."""
ELSEWHERE = {
    "mishap": {"doing", "error", "trace"},
    "certificate_read": {"serial", "expires"},
    "certificate_refused": {"error"},
    "refused": {"why", "told", "error", "address"},
}
"""Fields of events whose name or fields are made somewhere else than where they are told."""


@functools.cache
def told() -> tuple[tuple[str, set[str] | None], ...]:
    """Each event that the code tells of, with its fields; None where they are made elsewhere."""
    paths = (
        path
        for package in ("election", "qsync")
        for path in sorted((tree.ROOT / package).rglob("*.py"))
        if "sim" not in path.parts
    )
    return tuple(event for path in paths for event in _of_module(tree.parse(path)))


def _of_module(module: ast.Module) -> Iterator[tuple[str, set[str] | None]]:
    made: dict[str, ast.expr] = {}
    nodes = [each for each in ast.walk(module) if isinstance(each, ast.stmt | ast.Call)]
    for each in sorted(nodes, key=lambda node: node.lineno):
        match each:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                made[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                made[name] = value
            case ast.Call(args=[ast.Constant(value=str(event)), *rest]) if _name(each) in TELL:
                given = {word.arg for word in each.keywords if word.arg is not None}
                if rest or given:
                    yield event, _fields(rest[0], made) if rest else given


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)


def _fields(given: ast.expr, made: dict[str, ast.expr]) -> set[str] | None:
    if isinstance(given, ast.Name):
        given = made.get(given.id, given)
    if not isinstance(given, ast.Dict):
        return None
    found: set[str] = set()
    for key, value in zip(given.keys, given.values, strict=True):
        if isinstance(key, ast.Constant):
            found.add(str(key.value))
        else:
            found |= _fields(value, made) or set()
    return found


def wanted(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_every_event_that_the_code_tells_of_is_known_and_no_other_is() -> None:
    assert {name for name, _ in told()} | ELSEWHERE.keys() == HAPPENINGS.keys()
    assert severity_of("of a later release") is Gravity.INFO


@pytest.mark.parametrize("name", HAPPENINGS)
def test_an_event_has_the_fields_that_its_sentence_wants(name: str) -> None:
    given = [fields for event, fields in told() if event == name and fields is not None]
    given = given or [ELSEWHERE[name]]
    for fields in given:
        assert any(wanted(each) <= fields for each in HAPPENINGS[name].sentences), fields
    for each in HAPPENINGS[name].sentences:
        assert any(wanted(each) <= fields for fields in given), f"never said: {each}"


def test_a_reason_is_told_in_words_where_the_log_has_a_code() -> None:
    said = {"term": "6", "why": "quorum_lost"}
    assert sentence("stepped_down", said) == "stepped down in term 6: too few voters answered"
    said = {"why": "the log cannot be written: no space"}
    assert sentence("disk_failed", said).endswith(": the log cannot be written: no space")


def test_an_operators_promotion_is_told_from_the_ownership_that_follows() -> None:
    assert "an operator asked" in sentence("promote", {"term": "6"})
    assert sentence("promote", {"term": "7", "index": "12"}).startswith("owns the limbo in term 7")
