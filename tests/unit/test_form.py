"""Which form runs, and that a module compiled from an older source is noticed."""

import os
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from cli.main import run
from qsync import version
from qsync.form import form, outdated

SUFFIX = EXTENSION_SUFFIXES[0]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with one compiled module, made a second after its source."""
    (tmp_path / "pyproject.toml").touch()
    core = tmp_path / "qsync" / "core"
    core.mkdir(parents=True)
    for name, at in (("limbo.py", 100), (f"limbo{SUFFIX}", 101), ("machine.py", 300)):
        (core / name).touch()
        os.utime(core / name, (at, at))
    return tmp_path


def test_a_source_older_than_its_module_and_one_without_a_module_are_fine(checkout: Path) -> None:
    assert outdated(checkout) == []


def test_a_source_that_changed_after_being_compiled_is_named(checkout: Path) -> None:
    os.utime(checkout / "qsync" / "core" / "limbo.py", (102, 102))
    assert outdated(checkout) == ["qsync/core/limbo.py"]


def test_a_module_whose_source_is_gone_is_named(checkout: Path) -> None:
    (checkout / "qsync" / "core" / "limbo.py").unlink()
    assert outdated(checkout) == ["qsync/core/limbo.py"]


def test_where_qsync_is_installed_times_of_files_tell_nothing(checkout: Path) -> None:
    os.utime(checkout / "qsync" / "core" / "limbo.py", (102, 102))
    (checkout / "pyproject.toml").unlink()
    assert outdated(checkout) == []


def test_the_checkout_that_is_looked_at_is_the_one_that_runs(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(version, "__file__", str(checkout / "qsync" / "version.py"))
    (checkout / "qsync" / "core" / "limbo.py").unlink()
    assert outdated() == ["qsync/core/limbo.py"]


def test_version_says_which_form_runs(capsys: pytest.CaptureFixture[str]) -> None:
    run(["--version"])
    assert capsys.readouterr().out.endswith(f" ({form()})\n")
