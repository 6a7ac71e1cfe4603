"""Texts are for people: nothing is decided by what a message of ours says."""

import ast
import re

import pytest

from tests.repo import tree

MESSAGES = frozenset({"error", "message", "reason", "said", "sentence", "text", "told", "why"})
"""What holds a sentence for people, by its name."""
FOREIGN = {
    "cli/shell/failures.py": "Lua says nothing but a text about what is wrong with a chunk",
    "cli/shell/luahints.py": "the same",
    "cli/shell/chunks.py": "the same",
}


def decisions(source: ast.AST) -> list[str]:
    """Looks for words in a message, and comparisons with a whole sentence."""
    return [
        f"line {node.lineno}: {ast.unparse(node)[:80]}"
        for node in ast.walk(source)
        if isinstance(node, ast.Compare) and _is_about_text(node)
    ]


def _is_about_text(node: ast.Compare) -> bool:
    texts = [each for each in (node.left, *node.comparators) if isinstance(each, ast.Constant)]
    said = [
        each.value for each in texts if isinstance(each.value, str) and _WORD.search(each.value)
    ]
    held = [each for each in (node.left, *node.comparators) if _name(each) in MESSAGES]
    if isinstance(node.ops[0], ast.In | ast.NotIn):
        return bool(said) and node.left in texts and bool(held)
    return bool(held) and any(" " in each for each in said)


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Call) and _name(node.func) == "str" and node.args:
        return _name(node.args[0])
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


_WORD = re.compile(r"[A-Za-z]{2}")


@pytest.mark.parametrize(
    "source",
    [
        "'closed' in why",
        "'no connection' in each.why",
        "'refused' in str(error)",
        "each.why != 'not asked yet'",
        "'Connection refused' not in error.message",
    ],
)
def test_a_decision_by_a_text_is_found(source: str) -> None:
    assert len(decisions(ast.parse(source))) == 1


@pytest.mark.parametrize("source", ["'a' in names", "reason == 'election'", "'\\n' in text"])
def test_words_of_a_vocabulary_are_no_texts(source: str) -> None:
    assert decisions(ast.parse(source)) == []


def test_nothing_is_decided_by_what_a_message_says() -> None:
    found = {
        tree.name(path): lines
        for path in tree.modules()
        if tree.name(path).startswith(tree.PACKAGES) and (lines := decisions(tree.parse(path)))
    }
    assert {name: lines for name, lines in found.items() if name not in FOREIGN} == {}
    assert FOREIGN.keys() <= found.keys()
