"""The rules of the house that no linter has. What is over a limit is listed, and may not grow."""

import ast
import re
from collections.abc import Callable, Iterator
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


def functions(module: ast.Module) -> Iterator[Function]:
    for node in ast.walk(module):
        if isinstance(node, Function):
            yield node


def classes(module: ast.Module) -> Iterator[ast.ClassDef]:
    for node in ast.walk(module):
        if isinstance(node, ast.ClassDef):
            yield node


# ---------------------------------------------------------------------------------- what counts


def file_lines(path: Path, module: ast.Module) -> Iterator[Finding]:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    if not path.name.startswith("test_") or lines > TEST_FILE_LINES_MAX:
        yield "", lines


def function_lines(path: Path, module: ast.Module) -> Iterator[Finding]:
    for function in functions(module):
        yield f":{function.name}", (function.end_lineno or 0) - function.lineno + 1


def methods(path: Path, module: ast.Module) -> Iterator[Finding]:
    for cls in classes(module):
        own = [node for node in cls.body if isinstance(node, Function)]
        yield f":{cls.name}", sum(not node.name.startswith("__") for node in own)


def attributes(path: Path, module: ast.Module) -> Iterator[Finding]:
    """Of objects with behaviour; a record without methods has as many fields as what it records."""
    for cls in classes(module):
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


def positional(path: Path, module: ast.Module) -> Iterator[Finding]:
    for function in functions(module):
        names = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
        yield f":{function.name}", len(names) - (names[:1] in (["self"], ["cls"], ["mcs"]))


LIMITS: dict[str, tuple[int, Callable[[Path, ast.Module], Iterator[Finding]]]] = {
    "file-lines": (FILE_LINES_MAX, file_lines),
    "function-lines": (FUNCTION_LINES_MAX, function_lines),
    "methods": (METHODS_MAX, methods),
    "attributes": (ATTRIBUTES_MAX, attributes),
    "positional": (POSITIONAL_MAX, positional),
}


def measured(rule: str) -> dict[str, int]:
    """Everything over the limit of a rule."""
    limit, count = LIMITS[rule]
    found: dict[str, int] = {}
    for path in tree.modules():
        # pytest names what a test needs by its parameters, so their number is no design of ours.
        if rule == "positional" and path.name.startswith("test_"):
            continue
        for name, size in count(path, tree.parse(path)):
            if size > limit:
                found[f"{rule} {tree.name(path)}{name}"] = size
    return found


@pytest.mark.parametrize("rule", sorted(LIMITS))
def test_nothing_is_larger_than_the_house_allows(rule: str) -> None:
    grown = {what: size for what, size in measured(rule).items() if size > RATCHET.get(what, 0)}
    assert not grown, f"over {LIMITS[rule][0]}: split it; {grown}"


def test_the_ratchet_lists_only_what_is_still_too_large() -> None:
    present = {what for rule in LIMITS for what in measured(rule)}
    assert not set(RATCHET) - present, "no longer too large: remove it from RATCHET"


# ----------------------------------------------------------------------------------- what is said


def test_every_module_begins_with_a_sentence() -> None:
    for path in tree.modules():
        text = ast.get_docstring(tree.parse(path)) or ""
        first = text.partition("\n")[0]
        assert first.rstrip(")").endswith((".", "?", "!")), f"{tree.name(path)}: no first sentence"


def test_no_name_uses_a_word_that_the_glossary_has_a_better_one_for() -> None:
    bad: list[str] = []
    for path in tree.modules():
        module = tree.parse(path)
        defined = [path.stem, *(cls.name for cls in classes(module))]
        for function in functions(module):
            found = [node for node in ast.walk(function.args) if isinstance(node, ast.arg)]
            defined += [function.name, *(node.arg for node in found)]
        bad += [f"{tree.name(path)}: {name}" for name in defined if WORDS_NOT_USED & words(name)]
    assert not bad


def words(name: str) -> set[str]:
    """The words of a snake_case or CamelCase name."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def test_names_of_tests_are_claims() -> None:
    for path in sorted((tree.ROOT / "tests").rglob("test_*.py")):
        if path.parent.name in {"scenarios", "seeds"}:
            continue  # there the names of files and the numbers of seeds are the cases
        for function in functions(tree.parse(path)):
            if function.name.startswith("test_"):
                assert not re.search(r"(^test_\d+$|issue|gh_\d|bug_\d)", function.name)
                assert len(function.name.split("_")) > 2, f"{tree.name(path)}: {function.name}"


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
