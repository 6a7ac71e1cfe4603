"""The evidence that the user named: a bundle, a history, or neither, and then a hint."""

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from pathlib import Path

from admin.evidence import loose
from admin.evidence.bundle import HISTORY, is_bundle
from admin.evidence.manifest import MANIFEST, NoEvidence
from admin.evidence.tables import TABLES
from admin.lab import names as lab_names
from qsync.directory_files import is_node_directory

WANTED = (
    f"name a history or a bundle of evidence, which is a folder with a {MANIFEST}, as "
    "`qsync dump lab --out DIR`, `qsync drill run` and `qsync demo --keep DIR` leave it"
)
NAMED_MAX = 3
"""How many bundles below a folder are named."""


class CheckSource(Enum):
    """Inputs that can be checked."""

    BUNDLE = auto()
    HISTORY = auto()
    LOG = auto()


def source_of(path: Path) -> CheckSource:
    """The kind of evidence at a path. Raises NoEvidence, with what to do, if there is none."""
    if is_bundle(path):
        return CheckSource.BUNDLE
    if path.name == MANIFEST and path.is_file():
        raise NoEvidence(f"{path} is a part of a bundle", hint=f"name the folder {path.parent}")
    if path.is_file() and loose.is_log(path):
        return CheckSource.LOG
    if path.is_file() or (path / HISTORY).is_file():
        return CheckSource.HISTORY
    if path.is_dir():
        message, hint = _of_folder(path)
        raise NoEvidence(message, hint=hint)
    if path.exists():
        raise NoEvidence(f"{path} is neither a file nor a folder", hint=WANTED)
    raise NoEvidence(f"there is no file or folder {path}", hint=_running(path) or WANTED)


@contextlib.contextmanager
def bundled(sources: Sequence[Path]) -> Iterator[list[Path]]:
    """The sources, a log in a file of its own as a temporary bundle.

    Raises NoEvidence, for each of them before any is made.
    """
    kinds = [source_of(each) for each in sources]
    with tempfile.TemporaryDirectory(prefix="qsync-check-") as folder:
        yield [
            loose.as_bundle(each, Path(folder) / str(number) / each.name).path
            if kind is CheckSource.LOG
            else each
            for number, (each, kind) in enumerate(zip(sources, kinds, strict=True))
        ]


def history_needs_quick(path: Path) -> NoEvidence:
    """Spark is for bundles."""
    return NoEvidence(
        f"{path} is a history and no bundle of evidence, which alone are judged on Spark",
        hint="leave --engine and --master out",
    )


def _of_folder(path: Path) -> tuple[str, str]:
    """What is missing in a folder, and what to do."""
    if is_bundle(path.absolute().parent) and path.name in TABLES:
        return f"{path} is a part of a bundle", f"name the folder {path.parent}"
    if is_node_directory(path):
        return f"{path} is the directory of a node", f"`qsync dump {path} --out DIR` reads it"
    if lab_names.exists(path):
        return f"{path} is a lab", f"`qsync dump {path} --out DIR` takes evidence from its nodes"
    below = sorted(each for each in path.iterdir() if is_bundle(each))
    if below:
        named = " ".join(str(each) for each in below[:NAMED_MAX])
        more = " ..." if len(below) > NAMED_MAX else ""
        return f"{path} is a folder with bundles in it", f"name them: {named}{more}"
    empty = not any(path.iterdir())
    lacks = "it is empty" if empty else f"it has neither {MANIFEST} nor {HISTORY}"
    return f"{path} is no bundle of evidence: {lacks}", WANTED


def _running(path: Path) -> str | None:
    """Perhaps it is a cluster."""
    text = str(path)
    if text not in lab_names.known() and not text.rpartition(":")[2].isdecimal():
        return None
    return (
        f"of a cluster that runs, `qsync dump {text} --out DIR` takes evidence to check, and "
        f"`qsync check --follow {text}` judges it as it goes on"
    )
