"""What users install: the wheel, built and tried in an environment of its own."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import qsync
from tests.repo import tree

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def run(*command: str | Path, folder: Path) -> str:
    """Run a command; its output, or a failed test that shows it."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree."""
    out = tmp_path_factory.mktemp("wheel")
    uv = _uv()
    if uv is not None:
        run(uv, "build", "--quiet", "--wheel", "--out-dir", out, tree.ROOT, folder=out)
    else:
        pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", out)
        run(*pip, tree.ROOT, folder=out)
    (built,) = out.glob("*.whl")
    return built


def test_the_wheel_has_exactly_our_four_packages(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    top = {name.partition("/")[0] for name in names}
    assert {name for name in top if not name.endswith(".dist-info")} == set(tree.PACKAGES)
    assert "qsync/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if "__pycache__" in name]


def test_the_command_runs_from_an_empty_folder_of_a_fresh_environment(
    wheel: Path, tmp_path: Path
) -> None:
    environment, empty = tmp_path / "environment", tmp_path / "empty"
    empty.mkdir()
    python = environment / "bin" / "python"
    uv = _uv()
    if uv is not None:
        run(uv, "venv", "--quiet", "--python", sys.executable, environment, folder=empty)
        run(uv, "pip", "install", "--quiet", "--python", python, wheel, folder=empty)
    else:
        run(sys.executable, "-m", "venv", environment, folder=empty)
        run(python, "-m", "pip", "install", "--quiet", wheel, folder=empty)
    assert qsync.__version__ in run(environment / "bin" / "qsync", "--version", folder=empty)
    assert qsync.__version__ in run(python, "-m", "qsync", "--version", folder=empty)


def _uv() -> str | None:
    beside = Path(sys.executable).parent / "uv"
    return str(beside) if beside.exists() else shutil.which("uv")
