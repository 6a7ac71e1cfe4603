"""The files of the repository, as the tests about the tree itself see them."""

import ast
import functools
import gc
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("election", "qsync", "admin", "cli")
SKIPPED = {".git", ".venv", ".hypothesis", "build", "dist", "__pycache__"}


def files(*suffixes: str) -> list[Path]:
    """Every file of ours, by name; all of them without a suffix given."""
    return [path for path in _walk(ROOT) if not suffixes or path.suffix in suffixes]


def modules() -> list[Path]:
    """Every Python file of the packages and the tests."""
    roots = [ROOT / name for name in (*PACKAGES, "tests")]
    return [path for root in roots if root.is_dir() for path in _walk(root) if path.suffix == ".py"]


def name(path: Path) -> str:
    """A path as it is written in messages: from the root, with slashes."""
    return path.relative_to(ROOT).as_posix()


@functools.cache
def parse(path: Path) -> ast.Module:
    """The syntax tree of a Python file, parsed once: nobody changes it.

    All take 350 MB. Each full collection of garbage would go through them, for a second or two.
    """
    parsed = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    gc.freeze()
    return parsed


def _walk(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if (
            path.name in SKIPPED
            or path.name.endswith(("_cache", ".egg-info"))
            or path.name.startswith(".coverage")
            or path.suffix == ".so"  # of the compiled form, beside its sources
        ):
            continue
        if path.is_dir():
            yield from _walk(path)
        else:
            yield path
