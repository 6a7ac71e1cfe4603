"""Numbers and letters of the wire are written once, in enumerations; everybody else names them."""

import ast

import pytest

from qsync.data.operation_kinds import ReadKind
from tests.repo import tree

ASKING = ("qsync/client", "qsync/node", "qsync/sim", "admin", "cli")
"""Who builds operations of requests."""
LETTERS = frozenset(each.value for each in ReadKind)
READ_SIZES = (4, 5)
"""A read of a key or of a range: the letter, a space, an index, and what was read."""


def bare(source: ast.AST) -> list[str]:
    """Operations and reads that begin with a bare number or letter."""
    return [
        f"line {node.lineno}: {ast.unparse(node)[:60]}"
        for node in ast.walk(source)
        if (isinstance(node, ast.List) and _is_operation(node))
        or (isinstance(node, ast.keyword) and node.arg == "code" and _number(node.value))
    ]


def _is_operation(node: ast.List) -> bool:
    """A number that names follow, or a letter where a read has it."""
    if not node.elts:
        return False
    first, *rest = node.elts
    if isinstance(first, ast.Constant) and first.value in LETTERS:
        return len(node.elts) in READ_SIZES
    names = [each for each in rest if not isinstance(each, ast.Constant | ast.UnaryOp)]
    return _number(first) and bool(names) and not isinstance(names[0], ast.Starred)


def _number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


@pytest.mark.parametrize(
    "source",
    [
        "[1, space, row]",
        "[[30, session]]",
        "encode_put(1, code=2)",
        "['k', space, index, key]",
        "['r', space, index, iterator, key]",
    ],
)
def test_a_bare_number_is_found(source: str) -> None:
    assert len(bare(ast.parse(source))) == 1


@pytest.mark.parametrize("source", ["[1, 2, 3]", "[1, 'ann']", "[1, *rest]", "[Op.INSERT, a, b]"])
def test_other_lists_are_left_alone(source: str) -> None:
    assert bare(ast.parse(source)) == []


def test_operations_are_named_by_the_one_enumeration() -> None:
    found = {
        tree.name(path): lines
        for path in tree.modules()
        if tree.name(path).startswith(ASKING) and (lines := bare(tree.parse(path)))
    }
    assert found == {}
