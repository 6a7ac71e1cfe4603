"""A Spark session that is on this machine only unless told otherwise, and keeps its noise away."""

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from admin.checker.spark import java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[*]"
MEMORY = "1g"
SHUFFLE_PARTITIONS = 4
_LOOPBACK = "127.0.0.1"
NOISE = "spark.log"


def open_session(
    *, spark: str = LOCAL, remote: str | None = None, folder: Path | None = None
) -> "SparkSession":
    """A session; `remote` is a Connect server (`sc://host:port`). Noise goes to `folder`.

    Raises NoJava where Java is needed and is not there.
    """
    from pyspark.sql import SparkSession  # noqa: PLC0415 - comes with the extra

    if remote is not None:
        return SparkSession.builder.remote(remote).getOrCreate()
    place = folder or Path(tempfile.mkdtemp(prefix="qsync-spark-"))
    place.mkdir(parents=True, exist_ok=True)
    _environment()
    builder = SparkSession.builder.appName("qsync check").master(spark)
    for name, value in _settings(place, local=spark.startswith("local")).items():
        builder = builder.config(name, value)
    with _elsewhere(place / NOISE):
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def _environment() -> None:
    """What the Java process and Python workers inherit."""
    os.environ["JAVA_HOME"] = str(java.home())
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONSAFEPATH"] = "1"
    os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK)


def _settings(place: Path, *, local: bool) -> dict[str, str]:
    known = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": MEMORY,
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -Xss4m",
        "spark.sql.python.filterPushdown.enabled": "true",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
    }
    if local:
        known |= {
            "spark.driver.host": _LOOPBACK,
            "spark.driver.bindAddress": _LOOPBACK,
            "spark.sql.shuffle.partitions": str(SHUFFLE_PARTITIONS),
            "spark.sql.warehouse.dir": str(place / "warehouse"),
            "spark.local.dir": str(place / "scratch"),
        }
    return known


@contextlib.contextmanager
def _elsewhere(path: Path) -> Iterator[None]:
    """While the Java process starts: it inherits our stdout and stderr, which become a file."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    noise = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.dup2(noise, 1)
        os.dup2(noise, 2)
        yield
    finally:
        for number, former in enumerate(kept, start=1):
            os.dup2(former, number)
            os.close(former)
        os.close(noise)
