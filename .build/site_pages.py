"""What the site needs beside its pages: a menu made of them, and links to files that are none."""

import importlib.util
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"(?ms)^( *)(```|~~~).*?^\1\2\s*$")
LINK = re.compile(r"(?<!!)\[([^\]\[]*)\]\(([^)\s]+)\)")
SECTIONS = {
    "Tutorial": ("tutorial/*.md",),
    "How-to": (
        "how-to/install.md",
        "how-to/run-nodes.md",
        "how-to/secure-a-cluster.md",
        "how-to/manage-users.md",
        "how-to/grow-and-move.md",
        "how-to/back-up-and-restore.md",
        "how-to/*.md",
        "examples/README.md",
    ),
    "Reference": ("reference/commands.md", "reference/*.md", "reference/drills/*.md"),
    "Explanation": (
        "explanation/life-of-a-write.md",
        "explanation/failover.md",
        "explanation/rollback.md",
        "explanation/guarantees-in-words.md",
        "guarantees.md",
        "explanation/*.md",
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
"""The menu: what is named stands first; a page of one of these folders is in it in any case."""


MERMAID = "assets/mermaid.js"
"""What draws the pictures, served with the pages: readers need no other host."""


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
                entries += [page for page in pages if page not in entries]
        made.append({title: entries})
    return made


def on_config(config: Any) -> Any:
    """Fill in the menu."""
    config.nav = menu(Path(config.docs_dir))
    return config


def on_files(files: Any, config: Any) -> Any:
    """Take the script along that a package of ours brings (see the group `docs`)."""
    spec = importlib.util.find_spec("mermaidx")
    assert spec is not None, "it is in the group docs of pyproject.toml"
    assert spec.origin is not None
    script = Path(spec.origin).parent / MERMAID
    files.append(File.generated(config, MERMAID, abs_src_path=str(script)))
    return files


def on_post_page(output: str, *, page: Any, **_: Any) -> str:
    """Where there is a picture the script comes first; the theme would fetch it from elsewhere."""
    if 'class="mermaid"' not in output:
        return output
    up = "../" * page.url.count("/")
    return output.replace("</head>", f'<script src="{up}{MERMAID}"></script></head>', 1)


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
