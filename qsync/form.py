"""Which form of qsync runs: hot modules compiled with mypyc, or the pure sources everywhere."""

from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from qsync import version

ROOMS = ("election", "qsync")
"""Packages that hold compiled modules, if any."""


def form() -> str:
    """`compiled` or `pure`. This module is compiled with the others: its own file tells."""
    return "pure" if __file__.endswith(".py") else "compiled"


def checkout(root: Path | None = None) -> Path | None:
    """The folder of the sources that run, or `root` if it is one; None where qsync is installed."""
    root = root or Path(version.__file__).parents[1]  # never compiled: its file is surely there
    return root if (root / "pyproject.toml").exists() else None


def outdated(root: Path | None = None) -> list[str]:
    """Sources of a checkout that changed since they were compiled, or are gone; by path.

    Python prefers the compiled module beside a source, so an edit would have no effect. Where
    qsync is installed no file is edited, and times mean nothing.
    """
    root = checkout(root)
    if root is None:
        return []
    suffix = EXTENSION_SUFFIXES[0]
    compiled = (path for room in ROOMS for path in (root / room).rglob(f"*{suffix}"))
    found: list[str] = []
    for path in compiled:
        if path.name.startswith("native__"):
            continue  # the library of them all
        source = path.with_name(path.name.removesuffix(suffix) + ".py")
        if not source.exists() or source.stat().st_mtime_ns > path.stat().st_mtime_ns:
            found.append(source.relative_to(root).as_posix())
    return sorted(found)


def warning() -> str | None:
    """Why nothing may run as it is, in two lines; None when all is well."""
    changed = outdated() if form() == "compiled" else []
    if not changed:
        return None
    more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
    return (
        f"qsync: {changed[0]}{more} changed after being compiled, and the compiled form would run\n"
        "compile again (make compiled), or go back to the sources (make pure)"
    )
