"""Where Spark is to run, as users name it; nothing here starts it."""

import logging
import os
import socket
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pyspark
import pytest

from admin.checker.spark import environment, java, packages, place, session
from admin.checker.spark.failures import NoSpark
from admin.checker.spark.place import SessionMode, SparkUrl
from admin.checker.spark.progress import SeenStages, SparkStage
from admin.checker.spark.session import open_session


def test_a_url_says_how_to_get_there() -> None:
    ways = {
        "local[2]": SessionMode.LOCAL,
        "local-cluster[2,1,1024]": SessionMode.CLUSTER,
        "spark://a:7077": SessionMode.CLUSTER,
        "yarn": SessionMode.CLUSTER,
        "k8s://https://a:6443": SessionMode.CLUSTER,
        "sc://a:15002": SessionMode.CONNECT,
    }
    assert {url: SparkUrl.of(url).way for url in ways} == ways


def test_without_a_url_it_is_this_machine_or_what_submitted_us(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(place.SUBMITTED, raising=False)
    assert SparkUrl.of(None) == SparkUrl(SessionMode.LOCAL, "local[*]")
    monkeypatch.setenv(place.SUBMITTED, "4711")
    assert SparkUrl.of(None) == SparkUrl(SessionMode.SUBMITTED)


def test_a_cluster_elsewhere_is_not_told_to_call_back_on_loopback() -> None:
    assert SparkUrl.of("local[2]").listens_on_loopback
    assert SparkUrl.of("local-cluster[2,1,1024]").listens_on_loopback
    assert SparkUrl.of("spark://127.0.0.1:7077,localhost:7078").listens_on_loopback
    for url in ("spark://10.1.2.3:7077", "spark://127.0.0.1:1,10.1.2.3:2", "yarn"):
        assert not SparkUrl.of(url).listens_on_loopback, url


def test_executors_run_the_interpreter_that_is_named_else_one_that_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(java, "home", lambda: Path("/java"))
    wanted = [
        ("local[2]", None, "/other", sys.executable),
        ("local[2]", "/named", "/other", "/named"),
        ("spark://127.0.0.1:7077", None, None, sys.executable),
        ("spark://127.0.0.1:7077", None, "/other", "/other"),
        ("spark://10.1.2.3:7077", None, None, None),
        ("spark://10.1.2.3:7077", "/named", "/other", "/named"),
    ]
    for url, named, before, after in wanted:
        with monkeypatch.context() as patched:
            for variable in ("JAVA_HOME", "PYTHONSAFEPATH", "SPARK_LOCAL_IP", "PYSPARK_PYTHON"):
                patched.setenv(variable, "")
            patched.setenv("PYSPARK_DRIVER_PYTHON", "")
            patched.delenv("PYSPARK_PYTHON")
            if before is not None:
                patched.setenv("PYSPARK_PYTHON", before)
            session._environment(SparkUrl.of(url), python=named)
            assert os.environ.get("PYSPARK_PYTHON") == after, url


@pytest.mark.parametrize("scheme", ["spark", "sc"])
def test_where_nobody_listens_is_told_at_once(scheme: str, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and never listens
        port = taken.getsockname()[1]
        with pytest.raises(NoSpark, match=f"nothing answers at {scheme}://127.0.0.1:{port}"):
            open_session(spark=f"{scheme}://127.0.0.1:{port}", folder=tmp_path)


@pytest.mark.parametrize("url", ["spark://", "sc://:15002", "spark://a:port"])
def test_what_is_no_address_is_told_so(url: str) -> None:
    with pytest.raises(NoSpark, match="is not an address of Spark"):
        SparkUrl.of(url).reach()


def test_what_is_logged_meanwhile_goes_to_the_file(tmp_path: Path) -> None:
    with session._logged(tmp_path / "spark.log"):
        logging.getLogger().error("Exception while sending command.")
    assert "while sending" in (tmp_path / "spark.log").read_text()


def test_progress_only_grows() -> None:
    seen = SeenStages("judging")
    rounds = [{1: (0, 4)}, {1: (3, 4)}, {2: (1, 2)}, {}]
    told = [seen.now(each) for each in rounds]
    assert [(each.done, each.tasks) for each in told] == [(0, 4), (3, 4), (5, 6), (6, 6)]
    assert SeenStages("planning").now({}) == SparkStage("planning")


def test_the_packages_are_the_same_zip_every_time(tmp_path: Path) -> None:
    first, second = packages.pack(tmp_path / "a"), packages.pack(tmp_path / "b")
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as found:
        names = found.namelist()
    assert "admin/checker/spark/source.py" in names
    assert {name.partition("/")[0] for name in names} == set(packages.PACKAGES)


def test_executors_need_no_package_but_those_that_spark_needs_too(tmp_path: Path) -> None:
    """To judge bundles: what they import is imported here, from the zip."""
    archive = packages.pack(tmp_path)
    code = (
        f"import sys; sys.path.insert(0, {str(archive)!r})\n"
        "for name in ('cbor2', 'trio', 'lmdb', 'click', 'msgspec', 'anyio', 'yaml'):\n"
        "    sys.modules[name] = None\n"
        "import admin.checker.spark.source, admin.checker.spark.judge\n"
        "import admin.checker.spark.clients.histories\n"
        "print(admin.checker.spark.judge.__file__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout.strip() == f"{archive}/admin/checker/spark/judge.py", done.stderr
    assert done.returncode == 0, done.stderr


def test_a_spark_home_without_a_spark_or_with_another_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(environment.ARGUMENTS, raising=False)
    monkeypatch.setenv(environment.HOME, str(tmp_path))
    with pytest.raises(NoSpark, match=r"SPARK_HOME is .*no Spark .*unset it"):
        open_session(spark="local[1]", folder=tmp_path / "kept")
    for folder in ("bin", "jars"):
        (tmp_path / folder).mkdir()
    (tmp_path / "bin" / "spark-submit").touch()
    (tmp_path / "jars" / "spark-core_2.12-3.5.1.jar").touch()
    with pytest.raises(NoSpark, match=r"SPARK_HOME is .* a Spark 3\.5, and the pyspark"):
        environment.look()
    monkeypatch.setenv(environment.HOME, str(Path(pyspark.__file__).parent))
    environment.look()


def test_arguments_for_another_start_of_spark_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(environment.HOME, raising=False)
    monkeypatch.setenv(environment.ARGUMENTS, "--master local[1]")
    with pytest.raises(NoSpark, match=r"PYSPARK_SUBMIT_ARGS .*end with pyspark-shell"):
        environment.look()
    monkeypatch.setenv(environment.ARGUMENTS, "--master local[1] pyspark-shell")
    environment.look()


def test_of_what_spark_said_the_reason_is_told(tmp_path: Path) -> None:
    said = "WARNING: an incubator\nError: Missing application resource.\n\nUsage: a\n  --b\n  --c\n"
    (tmp_path / session.NOISE).write_text(said)
    failed = session._failed(SparkUrl.of("local[1]"), tmp_path, OSError("no more"))
    assert failed.message.endswith(": Error: Missing application resource.")
    assert "--b" not in failed.message


def test_who_interrupts_the_start_of_spark_leaves_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*, folder: Path, **_: object) -> None:
        (folder / session.NOISE).write_text("begun")
        raise KeyboardInterrupt

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(session, "open_session", interrupted)
    with pytest.raises(KeyboardInterrupt), session.using_session("local[1]"):
        raise AssertionError("it never starts")
    assert list(tmp_path.iterdir()) == []
