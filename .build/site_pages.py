"""What the site needs beside its pages: a menu made of them, and links to files that are none."""

import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"(?ms)^( *)(```|~~~).*?^\1\2\s*$")
LINK = re.compile(r"(?<!!)\[([^\]\[]*)\]\(([^)\s]+)\)")
SECTIONS = {
    "Tutorial": ("tutorial/*.md",),
    "How-to": ("how-to/*.md", "examples/README.md"),
    "Reference": ("reference/*.md", "reference/drills/*.md"),
    "Explanation": (
        "explanation/*.md",
        "guarantees.md",
        "security.md",
        "performance.md",
        "design/*.md",
        "design/packages/*.md",
        "decisions/*.md",
    ),
    "Project": (
        "track-record.md",
        "glossary.md",
        "contributing.md",
        "news/README.md",
        "changelog.md",
    ),
}
"""The menu; a page of one of these folders is in it without being named."""


def slug(heading: str, separator: str) -> str:
    """The anchor of a heading, as the hosts of repositories and tests/repo/test_docs.py make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", separator)


def menu(docs: Path) -> list[dict[str, Any]]:
    """Every section with its pages; those of a deeper folder in a group of their own."""
    made: list[dict[str, Any]] = [{"Home": "index.md"}]
    for title, patterns in SECTIONS.items():
        entries: list[Any] = []
        for pattern in patterns:
            pages = sorted(path.relative_to(docs).as_posix() for path in docs.glob(pattern))
            folder = posixpath.dirname(pattern)
            if "*" in pattern and folder in {"reference/drills", "design/packages", "decisions"}:
                entries.append({posixpath.basename(folder).capitalize(): pages})
            else:
                entries += pages
        made.append({title: entries})
    return made


def on_config(config: Any) -> Any:
    """Fill in the menu."""
    config.nav = menu(Path(config.docs_dir))
    return config


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """A link to a file outside of `docs` becomes its text, which names that file when pointed at.

    One that leads nowhere is left as it is: the strict build refuses it.
    """
    folder = posixpath.dirname(page.file.src_uri)

    def outside(found: re.Match[str]) -> str:
        text, target = found[1], found[2]
        file, _, _ = target.partition("#")
        place = posixpath.normpath(posixpath.join("docs", folder, file))
        if re.match(r"[a-z]+:", target) or not file or place.startswith("docs/"):
            return found[0]
        if not (ROOT / place).exists():
            return found[0]
        return f'<span title="{target.rpartition("../")[2]}">{text}</span>'

    made, last = [], 0
    for code in FENCE.finditer(markdown):
        made += [LINK.sub(outside, markdown[last : code.start()]), code[0]]
        last = code.end()
    return "".join([*made, LINK.sub(outside, markdown[last:])])
