"""pytest: `qsync_cluster` is a cluster of three real nodes that the test may break.

`@pytest.mark.qsync_cluster(nodes=5, options={"replication.synchro_timeout": "1s"})` asks for
another one; with `secure=True` it speaks TLS and has users, and the test is its administrator.
Loaded by pytest itself; nothing of qsync is imported before the fixture is used.
"""

import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from admin.lab.playground import Playground

MARKER = "qsync_cluster"
HERE = Path(__file__).parents[1]
"""The folder that has our packages."""
SIBLINGS = ("admin", "election")
"""Common words: the project under test may have packages of the same names."""


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(nodes=3, options=None, secure=False): what the qsync_cluster fixture starts",
    )


@pytest.fixture
def qsync_cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator["Playground"]:
    """Three real nodes (see the marker for more), ended after the test."""
    marker = request.node.get_closest_marker(MARKER)
    given = {} if marker is None else asked_by(marker)
    cluster = _playground(tmp_path_factory.mktemp("qsync") / "cluster", given)
    try:
        yield cluster
    finally:
        cluster.close()


def asked_by(marker: pytest.Mark) -> Mapping[str, Any]:
    """What a marker asks for. Raises UsageError for arguments without a name."""
    if marker.args:
        raise pytest.UsageError(
            f"the marker {MARKER} takes named arguments only, such as nodes=5, not {marker.args}"
        )
    return marker.kwargs


def _playground(directory: Path, given: Mapping[str, Any]) -> "Playground":
    """Made by our own files, whatever else bears the names of our packages."""
    with _ours():
        made: Playground = importlib.import_module("admin.lab.playground").Playground(
            directory, **given
        )
    return made


@contextmanager
def _ours() -> Iterator[None]:
    """Inside, the siblings are ours; after it, the project's own ones are back in their places.

    Our modules keep what they imported: nothing that a cluster needs is imported later.
    """
    strangers = [name for name in SIBLINGS if _is_strange(name)]
    theirs = _taken(strangers)
    if strangers:
        sys.path.insert(0, str(HERE))
        importlib.invalidate_caches()
    try:
        yield
    finally:
        if strangers:
            sys.path.remove(str(HERE))
            _taken(strangers)
            sys.modules.update(theirs)


def _is_strange(name: str) -> bool:
    found = find_spec(name)
    return found is None or found.origin != str(HERE / name / "__init__.py")


def _taken(names: list[str]) -> dict[str, ModuleType]:
    """The modules of these packages, no longer among those that are imported."""
    found = [name for name in sys.modules if name.partition(".")[0] in names]
    return {name: sys.modules.pop(name) for name in found}
