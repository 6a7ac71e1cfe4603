"""Spark as users run it, started from the pip package: a cluster, a Connect server, a terminal."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

from admin.checker.spark import java

SPARK_HOME = Path(pyspark.__file__).parent
SITE = SPARK_HOME.parent
QSYNC = Path(sys.executable).with_name("qsync")
PATIENCE_S = 240.0
_PAUSE_S = 0.2
ELSEWHERE = Path(sys.base_prefix) / "bin" / "python3"
"""An interpreter that knows nothing of our environment; with `SITE` on its path it has the
packages that Spark needs, but not ours: those are in this tree, which a .pth file names."""


def environment(folder: Path, *, java_hidden: bool = False) -> dict[str, str]:
    """Without anything that another Spark left, and if wanted without the system's Java."""
    known = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SPARK", "PYSPARK", "PYTHONPATH", "JAVA"))
    }
    known |= {"SPARK_LOCAL_IP": "127.0.0.1", "TERM": "xterm"}
    known["XDG_CACHE_HOME"] = str(folder / "cache")
    if java_hidden:
        return known | {"PATH": str(_without_java(folder / "tools"))}
    return known | {"JAVA_HOME": str(java.home())}


def _without_java(folder: Path) -> Path:
    """Every tool that is on the path, by a link, but Java."""
    folder.mkdir(parents=True, exist_ok=True)
    for place in map(Path, os.environ["PATH"].split(os.pathsep)):
        for tool in place.iterdir() if place.is_dir() else ():
            link = folder / tool.name
            if not tool.name.startswith("java") and not link.is_symlink():
                link.symlink_to(tool)
    return folder


def bare_executors() -> list[str]:
    """Options of `qsync check`: executors have Spark's packages and not ours."""
    settings = {
        "spark.pyspark.python": str(ELSEWHERE),
        "spark.pyspark.driver.python": sys.executable,
        "spark.executorEnv.PYTHONPATH": str(SITE),
        "spark.executor.memory": "512m",
    }
    return [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]


@dataclass(slots=True)
class Daemons:
    """Processes that write to files; all are gone at the end of the block."""

    folder: Path
    env: dict[str, str]
    _running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, name: str, tool: str, *arguments: str) -> Path:
        """One of Spark's tools; where it writes."""
        log = self.folder / f"{name}.log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [SPARK_HOME / "bin" / tool, *arguments],
                env=self.env | {"SPARK_HOME": str(SPARK_HOME)},
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        self._running.append(process)
        return log

    def said(self, log: Path, pattern: str) -> str:
        """Wait until it says something; the first group of it."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            found = re.search(pattern, log.read_text(encoding="utf-8", errors="replace"))
            if found:
                return found[1]
            assert all(each.poll() is None for each in self._running), log.read_text()[-2000:]
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._running[-1].wait(_PAUSE_S)
        raise AssertionError(f"{log} never said {pattern}: {log.read_text()[-2000:]}")

    def end(self) -> None:
        """All of them, the last one first."""
        for process in reversed(self._running):
            process.send_signal(signal.SIGTERM)
        for process in reversed(self._running):
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextlib.contextmanager
def standalone(folder: Path) -> Iterator[tuple[str, Daemons]]:
    """A cluster of one coordinator and two workers on loopback; its URL."""
    daemons = Daemons(folder, environment(folder))
    place = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
    try:
        log = daemons.start("first", "spark-class", "org.apache.spark.deploy.master.Master", *place)
        url = daemons.said(log, r"Starting Spark master at (spark://\S+)")
        daemons.said(log, r"(New state: ALIVE)")
        share = ("--cores", "1", "--memory", "1g")
        worker = "org.apache.spark.deploy.worker.Worker"
        for name in ("w1", "w2"):
            files = ("--work-dir", str(folder / name))
            log = daemons.start(name, "spark-class", worker, *place, *share, *files, url)
        for name in ("w1", "w2"):
            daemons.said(folder / f"{name}.log", r"(Successfully registered with master)")
        yield url, daemons
    finally:
        daemons.end()


@contextlib.contextmanager
def connect_server(folder: Path) -> Iterator[str]:
    """A Connect server on loopback, whose Python workers do not have our packages; its URL."""
    env = environment(folder) | {"PYSPARK_PYTHON": str(ELSEWHERE), "PYTHONPATH": str(SITE)}
    daemons = Daemons(folder, env)
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
    }
    options = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    server = "org.apache.spark.sql.connect.service.SparkConnectServer"
    try:
        start = ("--class", server, "--master", "local[2]", *options, "spark-internal")
        log = daemons.start("connect", "spark-submit", *start)
        port = daemons.said(log, r"Spark Connect server started at: \S*?:(\d+)\s")
        yield f"sc://127.0.0.1:{port}"
    finally:
        daemons.end()
