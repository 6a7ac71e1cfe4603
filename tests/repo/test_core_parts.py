"""The core is put together from parts: none of them takes the whole, and one of them the role."""

import ast
from collections.abc import Iterator

from tests.repo import tree

WHOLE = "Machine"
INPUTS = frozenset({"ballot_written", "clock", "observe", "received", "start", "timer"})
"""Inputs of the election after which leader or term may be others."""
CAMPAIGN = frozenset({"leader_gone", "promote"})
TRANSFER = frozenset({"resign"})
FOLLOWS = "qsync/core/replica_state.py"


def core() -> Iterator[tuple[str, ast.Module]]:
    for path in tree.modules():
        if tree.name(path).startswith("qsync/core/"):
            yield tree.name(path), tree.parse(path)


def takes_the_whole(module: ast.Module) -> list[str]:
    """Functions with a parameter of that type."""
    return [
        node.name
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef)
        for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        if each.annotation is not None and WHOLE in ast.unparse(each.annotation)
    ]


def inputs_of_the_election(module: ast.Module) -> list[str]:
    """Calls on a `raft`, or on a part of one, that may change who leads."""
    found = []
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner, name = ast.unparse(node.func.value).split(".")[-2:], node.func.attr
            if (
                (owner[-1] == "raft" and name in INPUTS)
                or (owner == ["raft", "campaign"] and name in CAMPAIGN)
                or (owner == ["raft", "transfer"] and name in TRANSFER)
            ):
                found.append(ast.unparse(node.func))
    return found


def test_no_part_takes_the_whole_machine() -> None:
    assert {name: takes_the_whole(module) for name, module in core()} == {
        name: [] for name, _ in core()
    }


def test_the_election_is_changed_in_one_place_which_lets_the_role_follow() -> None:
    found = {name: inputs_of_the_election(module) for name, module in core()}
    assert found.pop(FOLLOWS)
    assert {name: calls for name, calls in found.items() if calls} == {}


def test_what_the_rules_look_for_is_found() -> None:
    module = ast.parse("def act(machine: 'Machine'): machine.raft.transfer.resign('why')")
    assert takes_the_whole(module) == ["act"]
    assert inputs_of_the_election(module) == ["machine.raft.transfer.resign"]
