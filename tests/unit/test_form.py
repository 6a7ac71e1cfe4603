"""Which form runs, and that a module compiled from an older source is noticed."""

import os
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from cli.main import run
from qsync import version
from qsync.form import checkout, form, outdated

SUFFIX = EXTENSION_SUFFIXES[0]


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A checkout with one compiled module, made a second after its source."""
    (tmp_path / "pyproject.toml").touch()
    core = tmp_path / "qsync" / "core"
    core.mkdir(parents=True)
    for name, at in (("limbo.py", 100), (f"limbo{SUFFIX}", 101), ("machine.py", 300)):
        (core / name).touch()
        os.utime(core / name, (at, at))
    return tmp_path


def test_a_source_older_than_its_module_and_one_without_a_module_are_fine(sources: Path) -> None:
    assert outdated(sources) == []


def test_a_source_that_changed_after_being_compiled_is_named(sources: Path) -> None:
    os.utime(sources / "qsync" / "core" / "limbo.py", (102, 102))
    assert outdated(sources) == ["qsync/core/limbo.py"]


def test_a_module_whose_source_is_gone_is_named(sources: Path) -> None:
    (sources / "qsync" / "core" / "limbo.py").unlink()
    assert outdated(sources) == ["qsync/core/limbo.py"]


def test_where_qsync_is_installed_times_of_files_tell_nothing(sources: Path) -> None:
    os.utime(sources / "qsync" / "core" / "limbo.py", (102, 102))
    (sources / "pyproject.toml").unlink()
    assert outdated(sources) == []


def test_the_checkout_that_is_looked_at_is_the_one_that_runs(
    sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(version, "__file__", str(sources / "qsync" / "version.py"))
    (sources / "qsync" / "core" / "limbo.py").unlink()
    assert outdated() == ["qsync/core/limbo.py"]


def test_a_checkout_is_told_from_an_installation(sources: Path) -> None:
    assert checkout(sources) == sources
    (sources / "pyproject.toml").unlink()
    assert checkout(sources) is None


def test_version_says_which_form_runs(capsys: pytest.CaptureFixture[str]) -> None:
    run(["--version"])
    assert capsys.readouterr().out.endswith(f" ({form()})\n")
