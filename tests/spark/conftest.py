"""One Spark session for all tests here: starting one costs more than most of what they do."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What starts Spark is slow, needs patience, and warns of what is not ours."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.slow)
            # In front of what a file asks for itself, which therefore counts.
            item.add_marker(pytest.mark.filterwarnings("default"), append=False)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(600))


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    """On two cores of this machine. Whoever asks for it must neither stop nor configure it."""
    from admin.checker.spark.session import NOISE, open_session  # noqa: PLC0415 - slow to import

    kept = dict(os.environ)
    folder = tmp_path_factory.mktemp("spark")
    found = open_session(spark="local[2]", folder=folder)
    assert (folder / NOISE).exists()
    yield found
    found.stop()
    os.environ.clear()
    os.environ.update(kept)
