"""The rules of the house that no linter has. What is over a limit is listed, and may not grow."""

import ast
import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.repo import tree

FILE_LINES_MAX = 400
TEST_FILE_LINES_MAX = 1000
"""A file of tests is a list, read one test at a time."""
FUNCTION_LINES_MAX = 70
METHODS_MAX = 20
ATTRIBUTES_MAX = 12
POSITIONAL_MAX = 5
FILE_BYTES_MAX = 1 << 20

WORDS_NOT_USED = {"master", "slave", "manager", "handler", "helper", "util", "utils", "service"}
"""The glossary has better ones (docs/glossary.md)."""

RATCHET: dict[str, int] = {}
"""Old things over a limit: `rule path[:name]` to their present size. Shrink them, never add."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Finding = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Definitions:
    """What a file defines."""

    path: Path
    functions: list[Function]
    classes: list[ast.ClassDef]


def definitions(path: Path, source: ast.Module) -> Definitions:
    nodes = list(ast.walk(source))
    return Definitions(
        path,
        functions=[node for node in nodes if isinstance(node, Function)],
        classes=[node for node in nodes if isinstance(node, ast.ClassDef)],
    )


# ---------------------------------------------------------------------------------- what counts


def file_lines(file: Definitions) -> Iterator[Finding]:
    lines = len(file.path.read_text(encoding="utf-8").splitlines())
    if not file.path.name.startswith("test_") or lines > TEST_FILE_LINES_MAX:
        yield "", lines


def function_lines(file: Definitions) -> Iterator[Finding]:
    for function in file.functions:
        yield f":{function.name}", (function.end_lineno or 0) - function.lineno + 1


def methods(file: Definitions) -> Iterator[Finding]:
    for cls in file.classes:
        own = [node for node in cls.body if isinstance(node, Function)]
        yield f":{cls.name}", sum(not node.name.startswith("__") for node in own)


def attributes(file: Definitions) -> Iterator[Finding]:
    """Of objects with behaviour; a record without methods has as many fields as what it records."""
    for cls in file.classes:
        own = [node for node in cls.body if isinstance(node, Function)]
        stored = {
            node.attr
            for method in own
            for node in ast.walk(method)
            if isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and isinstance(node.value, ast.Name)
            and node.value.id == "self"
        }
        yield f":{cls.name}", len(stored)


def positional(file: Definitions) -> Iterator[Finding]:
    # pytest names what a test needs by its parameters, so their number is no design of ours.
    for function in [] if file.path.name.startswith("test_") else file.functions:
        names = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
        yield f":{function.name}", len(names) - (names[:1] in (["self"], ["cls"], ["mcs"]))


LIMITS: dict[str, tuple[int, Callable[[Definitions], Iterator[Finding]]]] = {
    "file-lines": (FILE_LINES_MAX, file_lines),
    "function-lines": (FUNCTION_LINES_MAX, function_lines),
    "methods": (METHODS_MAX, methods),
    "attributes": (ATTRIBUTES_MAX, attributes),
    "positional": (POSITIONAL_MAX, positional),
}


@dataclass(frozen=True, slots=True)
class Facts:
    """What is asked of a file, without its syntax tree, which is large."""

    path: Path
    sentence: str
    """The first line of its docstring."""
    functions: list[str]
    names: list[str]
    """Of functions, of what they take, and of classes."""
    too_large: dict[str, dict[str, int]]
    """By rule everything over its limit, with its size."""


@functools.cache
def facts() -> tuple[Facts, ...]:
    """Of every file, each parsed once."""
    return tuple(_facts(path) for path in tree.modules())


def _facts(path: Path) -> Facts:
    source = tree.parse(path)
    file = definitions(path, source)
    taken = [node for each in file.functions for node in ast.walk(each.args)]
    functions = [each.name for each in file.functions]
    return Facts(
        path,
        sentence=(ast.get_docstring(source) or "").partition("\n")[0],
        functions=functions,
        names=[
            *functions,
            *(each.name for each in file.classes),
            *(node.arg for node in taken if isinstance(node, ast.arg)),
        ],
        too_large={
            rule: {
                f"{rule} {tree.name(path)}{name}": size
                for name, size in count(file)
                if size > limit
            }
            for rule, (limit, count) in LIMITS.items()
        },
    )


def too_large(rule: str) -> dict[str, int]:
    """Everything over that limit, with its size."""
    return {what: size for each in facts() for what, size in each.too_large[rule].items()}


@pytest.mark.parametrize("rule", sorted(LIMITS))
def test_nothing_is_larger_than_the_house_allows(rule: str) -> None:
    grown = {what: size for what, size in too_large(rule).items() if size > RATCHET.get(what, 0)}
    assert not grown, f"over {LIMITS[rule][0]}: split it; {grown}"


def test_the_ratchet_lists_only_what_is_still_too_large() -> None:
    present = {what for rule in LIMITS for what in too_large(rule)}
    assert not set(RATCHET) - present, "no longer too large: remove it from RATCHET"


# ----------------------------------------------------------------------------------- what is said


def test_every_module_begins_with_a_sentence() -> None:
    for each in facts():
        ends = each.sentence.rstrip(")").endswith((".", "?", "!"))
        assert ends, f"{tree.name(each.path)}: no first sentence"


def test_no_name_uses_a_word_that_the_glossary_has_a_better_one_for() -> None:
    bad = [
        f"{tree.name(each.path)}: {name}"
        for each in facts()
        for name in (each.path.stem, *each.names)
        if WORDS_NOT_USED & words(name)
    ]
    assert not bad


def words(name: str) -> set[str]:
    """The words of a snake_case or CamelCase name."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def test_names_of_tests_are_claims() -> None:
    for each in facts():
        name = tree.name(each.path)
        if not name.startswith("tests/") or not each.path.name.startswith("test_"):
            continue
        if each.path.parent.name in {"scenarios", "seeds"}:
            continue  # there the names of files and the numbers of seeds are the cases
        for function in each.functions:
            if function.startswith("test_"):
                assert not re.search(r"(^test_\d+$|issue|gh_\d|bug_\d)", function)
                assert len(function.split("_")) > 2, f"{name}: {function}"


def test_scenarios_explain_themselves() -> None:
    for path in sorted((tree.ROOT / "tests/scenarios").glob("*.txt")):
        assert re.search(r"(?m)^# \S", path.read_text(encoding="utf-8")), tree.name(path)


# --------------------------------------------------------------------------------- what is where


def test_test_folders_are_not_packages_and_are_named_like_none() -> None:
    for path in sorted((tree.ROOT / "tests").rglob("*")):
        assert path.name != "__init__.py", f"{tree.name(path)} would shadow a package"
        assert not (path.is_dir() and path.name in tree.PACKAGES), tree.name(path)


def test_each_top_level_package_says_whose_it_is() -> None:
    for package in tree.PACKAGES:
        assert 'PART_OF = "qsync"' in (tree.ROOT / package / "__init__.py").read_text()


def test_admin_is_rooms_and_nothing_beside_them() -> None:
    loose = [path.name for path in (tree.ROOT / "admin").iterdir() if path.suffix == ".py"]
    assert loose == ["__init__.py"]


def test_no_file_is_large() -> None:
    for path in tree.files():
        assert path.stat().st_size <= FILE_BYTES_MAX, f"{tree.name(path)} does not belong here"


def test_tests_neither_sleep_nor_mock() -> None:
    sleeps = re.compile(r"\b(time|trio|anyio)\.sleep\(|unittest\.mock|\bMagicMock\b")
    # Real processes are waited for by asking them again after a pause.
    allowed = ("tests/live/", "tests/terminal/", "tests/bench/", "tests/repo/test_tidy.py")
    for path in tree.modules():
        name = tree.name(path)
        if name.startswith("tests/") and not name.startswith(allowed):
            found = sleeps.search(path.read_text(encoding="utf-8"))
            assert found is None, f"{name}: {found.group()}"


def test_every_exception_to_a_tool_gives_its_code_and_reason() -> None:
    """On its own line, or in the comment above it."""
    ignore = re.compile(r"#\s*(type: ignore|noqa)(?P<rest>.*)")
    code = re.compile(r"(\[[\w,\- ]+\]|:\s*[A-Z]+[0-9]+(,\s*[A-Z]+[0-9]+)*)\s*(?P<why>.*)")
    bare: list[str] = []
    for path in tree.modules():
        if path == Path(__file__):
            continue
        above = ""
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            found = ignore.search(line)
            coded = found and code.match(found.group("rest"))
            if found and not (coded and (coded.group("why") or above.startswith("#"))):
                bare.append(f"{tree.name(path)}:{number}")
            above = line.strip()
    assert not bare
