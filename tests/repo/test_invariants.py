"""An invariant of evidence is one kernel, which alone knows its id, and a line of the reference."""

import ast
from collections import defaultdict

from admin.checker.kernels.in_memory import PART_RULES
from admin.checker.kernels.registry import KERNELS
from admin.checker.replay.steps import AUTOMATA
from admin.checker.rules.catalogue import RULES
from tests.repo import tree

ONCE = {*PART_RULES, *(each.id for each in KERNELS), *(each.id for each in AUTOMATA)}


def test_every_invariant_is_judged_by_one_kernel() -> None:
    """By the same function in one process, on Spark, and where a cluster is followed."""
    assert {each.id for each in RULES} == ONCE


def test_nobody_but_its_kernel_knows_the_id_of_an_invariant() -> None:
    places = defaultdict[str, set[str]](set)
    for path in tree.modules():
        if not tree.name(path).startswith("admin/checker/"):
            continue
        for node in ast.walk(tree.parse(path)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                places[node.value].add(tree.name(path))
    assert {id_: files for id_ in ONCE if len(files := places[id_]) != 1} == {}


def test_every_invariant_is_a_line_of_the_reference() -> None:
    page = (tree.ROOT / "docs" / "reference" / "check.md").read_text(encoding="utf-8")
    assert [each.id for each in RULES if page.count(f"\n| `{each.id}` | ") != 1] == []
