"""The documents: links lead somewhere, and every code and option has its line."""

import ast
import functools
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from admin.metrics.backups import BACKUP_FAMILIES
from admin.metrics.families import FAMILIES, Family
from admin.metrics.health import CHECKS
from cli.error_help import ERROR_HELP
from cli.error_modules import ERROR_MODULES
from cli.main import COMMANDS
from qsync import errors
from tests.repo import tree

PAGES = [path for path in tree.files(".md") if "/corpora/" not in path.as_posix()]
FENCE = re.compile(r"(?ms)^( *)(```|~~~).*?^\1\2\s*$")
LINK = re.compile(r"(?<!!)\[[^\]\[]*\]\(([^)\s]+)\)")
SMALL = re.compile(r"\]\(\.\./tests/(scenarios|seeds|unit|fuzz)/")
REAL = re.compile(r"\]\(\.\./tests/(live/|node/|disk/|fuzz/test_fuzz_peers)")


def prose(path: Path) -> str:
    """A page without its code blocks and code spans."""
    return re.sub(r"`[^`\n]*`", "``", FENCE.sub("", path.read_text(encoding="utf-8")))


def anchors(path: Path) -> set[str]:
    """What a page's headings are called in links."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    found = re.findall(r"(?m)^#+ +(.+?) *$", text)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def claims(path: Path) -> set[str]:
    """What a page may name of a file of tests."""
    return set(re.findall(r"(?m)^(?:async )?def (test_\w+)\(", path.read_text(encoding="utf-8")))


def links(path: Path) -> Iterator[str]:
    for target in LINK.findall(prose(path)):
        if not re.match(r"[a-z]+:", target):
            yield target


@pytest.mark.parametrize("page", PAGES, ids=tree.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in links(page):
        file, _, anchor = target.partition("#")
        there = (page.parent / file).resolve() if file else page
        assert there.exists(), f"{tree.name(page)}: {target}"
        if anchor:
            known = claims(there) if there.suffix == ".py" else anchors(there)
            assert anchor in known, f"{tree.name(page)}: {target}"


def guarantees() -> Iterator[tuple[str, str, str]]:
    """Of every promise: what it says, its small cases and runs in simulation, its real nodes."""
    text = (tree.ROOT / "docs/guarantees.md").read_text(encoding="utf-8")
    heads = ("| outcome", "| promise", "| consistency", "| property")
    for row in text.splitlines():
        if row.startswith("| ") and not row.startswith(heads):
            promise, *_, small, real = (cell.strip() for cell in row.strip("|").split(" | "))
            yield promise, small, real.strip()


def test_every_guarantee_names_what_proves_it_in_simulation_and_on_real_nodes() -> None:
    rows = list(guarantees())
    assert len(rows) > 25
    small = {promise for promise, cell, _ in rows if not SMALL.search(cell)}
    real = {promise for promise, _, cell in rows if not REAL.search(cell)}
    assert not small
    assert not real


@pytest.mark.parametrize("page", PAGES, ids=tree.name)
def test_a_page_has_one_title(page: Path) -> None:
    if "docs/news/" in page.as_posix() and page.name != "README.md":
        return  # a fragment is one sentence of a later page
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    assert len(re.findall(r"(?m)^# ", text)) == 1


def test_every_page_can_be_reached_from_the_index() -> None:
    index = tree.ROOT / "docs" / "index.md"
    reached, todo = {index}, [index]
    while todo:
        page = todo.pop()
        for target in links(page):
            there = (page.parent / target.partition("#")[0]).resolve()
            if there.suffix == ".md" and there not in reached:
                reached.add(there)
                todo.append(there)
    news = tree.ROOT / "docs" / "news"
    wanted = {page for page in (tree.ROOT / "docs").rglob("*.md") if page.parent != news}
    missing = sorted(tree.name(page) for page in wanted - reached)
    assert not missing


def test_the_map_has_every_room_and_leads_to_files_that_are_there() -> None:
    text = (tree.ROOT / "docs/design/map.md").read_text(encoding="utf-8")
    _, rooms, change = re.split(r"(?m)^## (?:Rooms|To change something)$", text)
    change = change.partition("## Tests")[0]
    cells = [row.split("|") for row in rooms.splitlines() if row.startswith("| `")]
    rows = {cell[1].strip(" `"): cell[3] for cell in cells}
    folders = {tree.name(path.parent) for path in tree.files(".py") if path.name == "__init__.py"}
    ours = {name for name in folders if name.startswith(tree.PACKAGES)}
    assert ours - {"qsync"} == {name for name in rows if name}
    for room, files in rows.items():
        for file in re.findall(r"`([^`]+)`", files):
            assert (tree.ROOT / room / file).is_file(), f"{room}: {file}"
    for place in re.findall(r"`([a-z_./]+/[a-z_./-]+)`", change):
        assert (tree.ROOT / place).exists(), place


@pytest.mark.parametrize(
    "page", sorted((tree.ROOT / "docs/design/packages").glob("*.md")), ids=lambda page: page.stem
)
def test_the_page_of_a_package_names_files_that_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    home = re.match(r"# `([a-z._/]+)`", text)
    assert home is not None
    room = tree.ROOT / home[1].replace(".", "/")
    named = re.findall(r"[a-z_]+(?:/[a-z_]+)*\.py", text)
    assert [name for name in named if not (room / name).is_file()] == []
    assert "```mermaid" in text


@functools.cache
def codes() -> list[tuple[int, str]]:
    """Number and code of every error class in the sources, imported or not."""
    found: list[tuple[int, str]] = []
    for path in tree.modules():
        if tree.name(path).startswith(tree.PACKAGES):
            for node in ast.walk(tree.parse(path)):
                if isinstance(node, ast.ClassDef):
                    number, code = constant(node, "number"), constant(node, "code")
                    if isinstance(number, int) and isinstance(code, str):
                        found.append((number, code))
    return sorted(found)


def constant(cls: ast.ClassDef, name: str) -> object:
    """What a class says `name` is, if it says so with a literal."""
    for line in cls.body:
        match line:
            case ast.Assign(targets=[ast.Name(id=word)], value=ast.Constant(value=value)):
                pass
            case ast.AnnAssign(target=ast.Name(id=word), value=ast.Constant(value=value)):
                pass
            case _:
                continue
        if word == name:
            return value
    return None


def test_error_numbers_and_codes_are_unique() -> None:
    assert len({number for number, _ in codes()}) == len(codes())
    assert len({code for _, code in codes()}) == len(codes())
    assert {error.code for error in errors.all_errors()} <= {code for _, code in codes()}


def test_every_error_has_a_cause_and_a_cure() -> None:
    for home in ERROR_MODULES:
        importlib.import_module(home)
    assert {error.code for error in errors.all_errors()} == {code for _, code in codes()}, (
        "`qsync explain` does not know the module of some: add it to cli.error_modules"
    )
    assert set(ERROR_HELP) == {code for _, code in codes()}
    assert all(each.why.endswith(".") and each.do.endswith(".") for each in ERROR_HELP.values())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_explained(command: str) -> None:
    page = (tree.ROOT / "docs/reference/commands.md").read_text(encoding="utf-8")
    assert f"`qsync {command}" in page


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_metric_and_health_url_is_explained(family: Family) -> None:
    page = (tree.ROOT / "docs/reference/metrics.md").read_text(encoding="utf-8")
    assert f"| `{family.name}` | {family.kind} | {family.about} |" in page
    assert all(f"`{url}`" in page for url in CHECKS)


def test_every_metric_of_backups_is_explained() -> None:
    page = (tree.ROOT / "docs/reference/metrics.md").read_text(encoding="utf-8")
    for each in BACKUP_FAMILIES:
        assert f"| `{each.name}` | gauge | {each.about} |" in page


def test_a_news_fragment_is_a_sentence_of_a_known_type() -> None:
    for path in sorted((tree.ROOT / "docs/news").iterdir()):
        if path.name == "README.md":
            continue
        assert re.fullmatch(r"(\d+|\+[\w-]+)\.(feature|change|fix|removal)\.md", path.name)
        assert path.read_text(encoding="utf-8").rstrip().endswith("."), path.name
