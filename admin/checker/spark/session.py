"""A Spark session, wherever Spark runs; Spark's output goes to a file."""

import atexit
import contextlib
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from admin.checker.spark import environment, java, packages
from admin.checker.spark.failures import NoSpark
from admin.checker.spark.place import LOCAL, LOOPBACK, SessionMode, SparkUrl

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["LOCAL", "NOISE", "open_session", "session_at_hand", "using_session"]

MEMORY = "640m"
"""Rows stay in files and in Python: plans and findings need only this much Java heap."""
PAGE = "1m"
"""The minimum memory of each sort and group; Spark's default is sixteen times as much."""
SHUFFLE_PARTITIONS = 4
NOISE = "spark.log"
_TAIL_LINES = 3
_TELLING = ("Error: ", "Exception in thread ")
"""Other output of Spark comes before these, and its usage text after them."""
_NAME = "qsync check"
_PYTHON = "spark.pyspark.python"


@contextlib.contextmanager
def using_session(
    url: str | None = None,
    *,
    folder: Path | None = None,
    settings: Mapping[str, str] | None = None,
) -> "Iterator[SparkSession]":
    """The existing session of this process (a notebook's), or one until the end of the block.

    An existing session keeps the packages that it is sent until it ends. Without `folder` Spark's
    output is deleted at the end. Raises the errors of `open_session`.
    """
    from pyspark.sql import SparkSession  # noqa: PLC0415 - comes with the extra

    found = SparkSession.getActiveSession() if url is None else None
    if found is not None:
        _shipped(found)
        yield found
        return
    kept, started = folder or _fresh(), False
    try:
        with _logged(kept / NOISE):
            opened = open_session(spark=url, folder=kept, settings=settings)
            started = True
            try:
                yield opened
            finally:
                with ending():
                    opened.stop()
    except KeyboardInterrupt:
        started = True  # its log has nothing of interest
        raise
    finally:
        if folder is None and started:
            shutil.rmtree(kept, ignore_errors=True)


@contextlib.contextmanager
def ending() -> Iterator[None]:
    """Stop the session. It may have ended: a signal to a whole service ends Java first."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - comes with the extra

    with contextlib.suppress(Py4JError, ConnectionError):
        yield


@contextlib.contextmanager
def _logged(path: Path) -> Iterator[None]:
    """Also silence its Python side when interrupted: it would print a traceback to stderr."""
    heard = logging.FileHandler(path, encoding="utf-8", delay=True)
    root = logging.getLogger()
    root.addHandler(heard)
    try:
        yield
    finally:
        root.removeHandler(heard)
        heard.close()


def open_session(
    *,
    spark: str | None = None,
    folder: Path | None = None,
    settings: Mapping[str, str] | None = None,
) -> "SparkSession":
    """A session at `spark`, a master's URL or `sc://host:port`; the default is this machine.

    `folder` gets Spark's output and files, `settings` are Spark settings. For another machine, our
    packages are shipped. Raises NoJava if Java is needed and missing, and NoSpark.
    """
    place = SparkUrl.of(spark)
    place.reach()
    # Connect writes no log that could explain why a session was refused.
    kept = folder or (_passing() if place.way is SessionMode.CONNECT else _fresh())
    kept.mkdir(parents=True, exist_ok=True)
    wanted = dict(settings or {})
    if place.way is SessionMode.CONNECT:
        opened = _connected(place, wanted)
    else:
        opened = _started(place, kept, wanted)
        if folder is None:
            atexit.register(shutil.rmtree, kept, ignore_errors=True)
    if not place.is_here:
        packages.ship(opened, kept, connected=place.way is SessionMode.CONNECT)
    return opened


def session_at_hand(given: "SparkSession | None" = None) -> "SparkSession":
    """The given session, else this process's session, else a new one, which ends with it.

    Its executors have our packages. Raises NoJava and NoSpark if a new one cannot be started.
    """
    from pyspark.sql import SparkSession  # noqa: PLC0415 - comes with the extra

    found = given or SparkSession.getActiveSession()
    if found is None:
        return open_session()
    _shipped(found)
    return found


def _shipped(session: "SparkSession") -> None:
    """A session that other code opened may have executors without our packages."""
    connected = packages.is_connected(session)
    if connected or not SparkUrl.of(session.sparkContext.master).is_here:
        packages.ship(session, _passing(), connected=connected)


def _fresh() -> Path:
    return Path(tempfile.mkdtemp(prefix="qsync-spark-"))


def _passing() -> Path:
    """It ends with this process."""
    found = _fresh()
    atexit.register(shutil.rmtree, found, ignore_errors=True)
    return found


def _connected(place: SparkUrl, wanted: dict[str, str]) -> "SparkSession":
    from pyspark.errors import PySparkException  # noqa: PLC0415 - comes with the extra
    from pyspark.sql import SparkSession  # noqa: PLC0415 - the same

    try:
        builder = SparkSession.builder.remote(place.url)
        for name, value in (_anywhere() | wanted).items():
            builder = builder.config(name, value)
        return builder.getOrCreate()
    except (PySparkException, ImportError) as error:
        raise NoSpark(f"{place.url}: {_first_line(error)}") from error


def _started(place: SparkUrl, kept: Path, wanted: dict[str, str]) -> "SparkSession":
    from py4j.protocol import Py4JError  # noqa: PLC0415 - comes with the extra
    from pyspark.errors import PySparkException  # noqa: PLC0415 - the same
    from pyspark.sql import SparkSession  # noqa: PLC0415 - the same

    if place.way is not SessionMode.SUBMITTED:
        environment.look()
        _environment(place, python=wanted.get(_PYTHON))
    builder = SparkSession.builder.appName(_NAME)
    builder = builder.master(place.url) if place.url else builder
    for name, value in (_settings(place, kept) | wanted).items():
        builder = builder.config(name, value)
    try:
        with _elsewhere(kept / NOISE), java.ended_if_interrupted():
            opened = builder.getOrCreate()
    except (PySparkException, Py4JError) as error:
        raise _failed(place, kept, error) from error
    opened.sparkContext.setLogLevel("ERROR")
    return opened


def _environment(place: SparkUrl, *, python: str | None) -> None:
    """The environment of the Java process and Python workers. `python`: the executors' own."""
    os.environ["JAVA_HOME"] = str(java.home())
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONSAFEPATH"] = "1"
    if python is not None:
        # Only spark-submit uses the setting; a session that Python starts reads this variable.
        os.environ["PYSPARK_PYTHON"] = python
    elif place.is_here:
        os.environ["PYSPARK_PYTHON"] = sys.executable
    elif place.listens_on_loopback:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if place.listens_on_loopback:
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)


def _anywhere() -> dict[str, str]:
    """Settings that our queries need everywhere."""
    return {
        "spark.sql.python.filterPushdown.enabled": "true",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
    }


def _settings(place: SparkUrl, kept: Path) -> dict[str, str]:
    known = _anywhere() | {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if place.way is SessionMode.SUBMITTED:
        return known
    known |= {
        "spark.driver.memory": MEMORY,
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss4m",
    }
    if place.listens_on_loopback:
        known |= {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
    if place.is_here:
        known |= {
            "spark.sql.shuffle.partitions": str(SHUFFLE_PARTITIONS),
            "spark.buffer.pageSize": PAGE,
            "spark.sql.warehouse.dir": str(kept / "warehouse"),
            "spark.local.dir": str(kept / "scratch"),
        }
    return known


def _failed(place: SparkUrl, kept: Path, error: BaseException) -> NoSpark:
    log = kept / NOISE
    said = log.read_text(encoding="utf-8", errors="replace").splitlines()
    told = [line for line in said if line.startswith(_TELLING)][:1] or said[-_TAIL_LINES:]
    last = "; ".join(line.strip() for line in told if line.strip())
    return NoSpark(
        f"Spark did not start at {place.describe()}: {last or _first_line(error)}",
        hint=f"its output is in {log}",
    )


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


@contextlib.contextmanager
def _elsewhere(path: Path) -> Iterator[None]:
    """While the Java process starts, redirect stdout and stderr, which it inherits, to a file."""
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
