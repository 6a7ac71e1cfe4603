"""The documentation as a site: every page is in the menu, no link is broken."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.repo import tree

BUILD = tree.ROOT / ".build"


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    """The hooks of the build."""
    spec = importlib.util.spec_from_file_location("site_pages", BUILD / "site_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def flat(entry: Any) -> list[str]:
    match entry:
        case str():
            return [entry]
        case dict():
            return [page for each in entry.values() for page in flat(each)]
        case _:
            return [page for each in entry for page in flat(each)]


def test_every_page_is_in_the_menu_once(pages: ModuleType) -> None:
    docs = tree.ROOT / "docs"
    there = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    fragments = {name for name in there if re.match(r"news/[\d+]", name)}
    listed = flat(pages.menu(docs))
    assert sorted(listed) == sorted(there - fragments)


def test_a_link_to_a_source_is_text_and_one_that_leads_nowhere_stays(pages: ModuleType) -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="design/map.md"))
    text = (
        "[a](../../Makefile) [b](../../nowhere.md) [c](../index.md) [d](https://x/)\n"
        "```\n[e](../../Makefile)\n```\n"
    )
    assert pages.on_page_markdown(text, page=page) == (
        '<span title="Makefile">a</span> [b](../../nowhere.md) [c](../index.md) [d](https://x/)\n'
        "```\n[e](../../Makefile)\n```\n"
    )


@pytest.mark.slow
def test_the_site_is_built_and_no_link_is_broken(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"),
            *("--config-file", str(BUILD / "site.yml"), "--site-dir", str(tmp_path)),
        ],
        cwd=tree.ROOT,
        env=os.environ | {"PYTHONPATH": str(BUILD), "NO_MKDOCS_2_WARNING": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    api = (tmp_path / "reference/python.html").read_text("utf-8")
    assert 'id="qsync.client.blocking.connect"' in api, "the docstrings are in it"
    drawn = (tmp_path / "explanation/failover.html").read_text("utf-8")
    assert 'class="mermaid"' in drawn
    assert '<script src="../assets/mermaid.js">' in drawn, "nothing is fetched from elsewhere"
    assert "mermaid" in (tmp_path / "assets/mermaid.js").read_text("utf-8")[:1000]
    assert "mermaid.js" not in (tmp_path / "index.html").read_text("utf-8")
    assert "linearizable" in (tmp_path / "search/search_index.json").read_text("utf-8")
