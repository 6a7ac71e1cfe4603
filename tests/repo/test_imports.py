"""No module needs another one that needs it: not even for the types."""

import ast
import functools

import pytest

from tests.repo import tree

Graph = dict[str, set[str]]

PURE = ("election", "qsync.core")
"""Nothing here is ever allowed to go in a circle."""


def module_of(name: str) -> str:
    return name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@functools.cache
def imports() -> Graph:
    """All imports of a module: also under TYPE_CHECKING, also in a function."""
    paths = {
        module_of(tree.name(path)): path
        for path in tree.modules()
        if tree.name(path).startswith(tree.PACKAGES)
    }
    found: Graph = {name: set() for name in paths}
    for name, path in paths.items():
        for node in ast.walk(tree.parse(path)):
            if isinstance(node, ast.ImportFrom) and node.module:
                inside = {f"{node.module}.{each.name}" for each in node.names}
                known = inside & paths.keys()
                found[name] |= known
                if known != inside and node.module in paths:
                    found[name].add(node.module)
            elif isinstance(node, ast.Import):
                found[name] |= {each.name for each in node.names} & paths.keys()
    return found


def circles(graph: Graph) -> list[list[str]]:
    """The strongly connected components of more than one module (Tarjan)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in order:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], order[other])
        if low[name] == order[name]:
            at = stack.index(name)
            if len(stack) - at > 1 or name in graph[name]:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for name in sorted(graph):
        if name not in order:
            visit(name)
    return sorted(found)


@pytest.mark.parametrize("package", PURE)
def test_no_import_goes_in_a_circle_where_leaders_are_elected_and_fates_decided(
    package: str,
) -> None:
    graph = imports()
    inside = {name for name in graph if name == package or name.startswith(f"{package}.")}
    assert len(inside) > 10
    assert circles({name: graph[name] & inside for name in inside}) == []
    assert [each for each in circles(graph) if inside & set(each)] == []


def test_no_import_goes_in_a_circle_anywhere() -> None:
    assert circles(imports()) == []


def test_a_circle_through_several_modules_is_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
    assert circles({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert circles({"a": {"a"}}) == [["a"]]
