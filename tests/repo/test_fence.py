"""The `qsync` command refuses to run when a stranger stands where one of our packages should."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.repo import tree


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    """Start the command with `folder` in front of everything else."""
    code = "import sys; from qsync.__main__ import main; sys.argv = ['qsync', '--version']; main()"
    return subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={"PYTHONPATH": f"{folder}:{tree.ROOT}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


@pytest.mark.parametrize("name", ["election", "admin", "cli"])
def test_a_foreign_package_of_our_name_gets_a_clear_message(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("")
    done = run(tmp_path)
    assert done.returncode == 2
    assert f"another package took our place: {name} from {tmp_path}" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_package_that_cannot_be_imported_gets_a_clear_message(tmp_path: Path) -> None:
    (tmp_path / "admin.py").write_text("import nowhere_to_be_found")
    done = run(tmp_path)
    assert done.returncode == 2
    assert "'admin' cannot be imported: No module named 'nowhere_to_be_found'" in done.stderr


def test_ctrl_c_while_modules_are_read_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "admin.py").write_text("raise KeyboardInterrupt")
    done = run(tmp_path)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


def test_ctrl_c_is_taken_by_no_module_for_an_error_of_its_own(tmp_path: Path) -> None:
    """Python makes a RuntimeError of what ends `__set_name__`, and imports of what ends others."""
    taken = (
        "import os, signal",
        "try:",
        "    os.kill(os.getpid(), signal.SIGINT)",
        "except BaseException as error:",
        "    raise ImportError('broken') from error",
    )
    (tmp_path / "admin.py").write_text("\n".join(taken))
    done = run(tmp_path)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")
