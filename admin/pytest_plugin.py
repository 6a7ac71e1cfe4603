"""pytest: `qsync_cluster` is a cluster of three real nodes that the test may break.

`@pytest.mark.qsync_cluster(nodes=5, options={"replication.synchro_timeout": "1s"})` asks for
another one. Loaded by pytest itself; nothing of qsync is imported before the fixture is used.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from admin.playground import Playground

MARKER = "qsync_cluster"


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers", f"{MARKER}(nodes=3, options=None): what the qsync_cluster fixture starts"
    )


@pytest.fixture
def qsync_cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator["Playground"]:
    """Three real nodes (see the marker for more), ended after the test."""
    from admin.playground import Playground  # noqa: PLC0415 - only for who uses it

    marker = request.node.get_closest_marker(MARKER)
    given = {} if marker is None else marker.kwargs
    cluster = Playground(tmp_path_factory.mktemp("qsync") / "cluster", **given)
    try:
        yield cluster
    finally:
        cluster.close()
