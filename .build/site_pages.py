"""What the site needs beside its pages: a menu made of them, and links to files that are none."""

import base64
import importlib.util
import json
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
        "performance-changes.md",
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


def notebooks(docs: Path) -> dict[str, Path]:
    """By the page that is made of it."""
    return {
        path.relative_to(docs).with_suffix(".md").as_posix(): path
        for path in sorted(docs.glob("examples/*.ipynb"))
    }


def on_config(config: Any) -> Any:
    """Fill in the menu."""
    docs = Path(config.docs_dir)
    config.nav = menu(docs)
    guides = next(each["How-to"] for each in config.nav if "How-to" in each)
    guides += notebooks(docs)
    return config


def on_files(files: Any, config: Any) -> Any:
    """Take the script along that a package of ours brings (see the group `docs`).

    Beside every notebook, which can be downloaded, stands the page that shows it.
    """
    spec = importlib.util.find_spec("mermaidx")
    assert spec is not None, "it is in the group docs of pyproject.toml"
    assert spec.origin is not None
    script = Path(spec.origin).parent / MERMAID
    files.append(File.generated(config, MERMAID, abs_src_path=str(script)))
    for name, path in notebooks(Path(config.docs_dir)).items():
        text = notebook_page(path.read_text(encoding="utf-8"))
        files.append(File.generated(config, name, content=text))
    return files


def on_post_page(output: str, *, page: Any, **_: Any) -> str:
    """Where there is a picture the script comes first; the theme would fetch it from elsewhere."""
    if 'class="mermaid"' not in output:
        return output
    up = "../" * page.url.count("/")
    return output.replace("</head>", f'<script src="{up}{MERMAID}"></script></head>', 1)


def notebook_page(text: str) -> str:
    """A notebook in Markdown: its words, its code, and the outputs that were kept."""
    made = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            made.append(source)
            continue
        made.append(f"```python\n{source}\n```")
        made += [shown_output(each) for each in cell["outputs"]]
    return "\n\n".join(made) + "\n"


def shown_output(found: dict[str, Any]) -> str:
    """What a cell printed, drew or returned: the richest form of it that a page can show."""
    data = found.get("data", {"text/plain": found.get("text", [])})
    forms = {name: "".join(lines).strip("\n") for name, lines in data.items()}
    if "image/svg+xml" in forms:
        drawn = base64.b64encode(forms["image/svg+xml"].encode()).decode()
        return (
            f'<p><img alt="what the cell above drew" src="data:image/svg+xml;base64,{drawn}"></p>'
        )
    if "text/html" in forms:
        return forms["text/html"]
    return f"```text\n{forms['text/plain']}\n```"


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
