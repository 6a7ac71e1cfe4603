"""What users install: the wheel, built and tried in an environment of its own."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import qsync
from tests.repo import tree

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def run(*command: str | Path, folder: Path, **env: str) -> str:
    """Run a command; its output, or a failed test that shows it."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={**os.environ, **env},
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
    """The pure wheel of this tree, made from its sdist where there is uv, as `make dist` does."""
    out = tmp_path_factory.mktemp("wheel")
    uv = _uv()
    if uv is None:
        return build(out, QSYNC_FORM="pure")[0]
    run(uv, "build", "--out-dir", out, tree.ROOT, folder=out, QSYNC_FORM="pure")
    (built,) = out.glob("*.whl")
    assert len(list(out.glob("*.tar.gz"))) == 1
    return built


def build(out: Path, **env: str) -> tuple[Path, str]:
    """A wheel of this tree, and what was said while it was built."""
    uv = _uv()
    if uv is not None:
        said = run(uv, "build", "--wheel", "--out-dir", out, tree.ROOT, folder=out, **env)
    else:
        pip = (sys.executable, "-m", "pip", "wheel", "-v", "--no-deps", "-w", out)
        said = run(*pip, tree.ROOT, folder=out, **env)
    (built,) = out.glob("*.whl")
    return built, said


def test_the_wheel_has_exactly_our_four_packages(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    top = {name.partition("/")[0] for name in names}
    ours = {name for name in top if not name.endswith((".dist-info", ".data"))}
    assert ours == set(tree.PACKAGES)
    assert "qsync/py.typed" in names
    assert "cli/guides/secure-a-cluster.md" in names
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
    version = f"qsync {qsync.__version__} (pure)"
    assert version in run(environment / "bin" / "qsync", "--version", folder=empty)
    assert version in run(python, "-m", "qsync", "--version", folder=empty)
    assert "Type=notify" in run(environment / "bin" / "qsync", "deploy", "systemd", folder=empty)
    manual = (environment / "share/man/man1/qsync-init.1").read_text("utf-8")
    assert f"qsync {qsync.__version__}" in manual
    for place in ("bash-completion/completions/qsync", "zsh/site-functions/_qsync"):
        assert "_QSYNC_COMPLETE" in (environment / "share" / place).read_text("utf-8")


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_a_wheel_is_compiled_where_there_is_a_c_compiler(tmp_path: Path) -> None:
    """With the object files of `make other-form`, where they are of the same sources."""
    work = str(tree.ROOT / "build" / "other-mypyc")
    wheel, _ = build(tmp_path, QSYNC_COMPILE_LEVEL="0", QSYNC_COMPILE_WORK=work)
    assert "none-any" not in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    ask = "from qsync.form import form; import qsync.core.machine as m; print(form(), m.__file__)"
    there = {"PYTHONPATH": str(tmp_path / "installed")}
    form, file = run(sys.executable, "-c", ask, folder=tmp_path, **there).split()
    assert form == "compiled"
    assert Path(file).is_relative_to(tmp_path)
    assert not file.endswith(".py")


def test_a_wheel_is_pure_where_there_is_no_c_compiler_and_says_so(tmp_path: Path) -> None:
    wheel, said = build(tmp_path, CC="/nonexistent/cc")
    assert wheel.name.endswith("-py3-none-any.whl")
    assert "qsync is built in its pure form: there is no C compiler" in said


def _uv() -> str | None:
    beside = Path(sys.executable).parent / "uv"
    return str(beside) if beside.exists() else shutil.which("uv")
