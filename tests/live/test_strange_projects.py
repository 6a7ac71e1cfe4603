"""The pytest plugin in a project that has packages of the same names as ours."""

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROJECT = {
    "admin/__init__.py": "",
    "admin/models.py": "WHO = 'theirs'\n",
    "election/__init__.py": "WHO = 'theirs'\n",
    "cli.py": "WHO = 'theirs'\n",
    "test_unrelated.py": "import cli\nfrom admin import models\n\n"
    "def test_of_theirs():\n    assert (models.WHO, cli.WHO) == ('theirs', 'theirs')\n",
    "test_cluster.py": """
import sys

import admin.models


def test_their_modules_stay_theirs_beside_the_fixture(qsync_cluster):
    killed = qsync_cluster.kill_leader()
    assert qsync_cluster.wait_writable() != killed
    with qsync_cluster.connect() as db:
        db.schema.create_space("t", is_sync=True)
        db.space("t").replace([1])
    import election
    from admin import models

    assert (models.WHO, election.WHO) == ("theirs", "theirs")
    assert sys.modules["admin"] is admin
    qsync_cluster.heal()
    qsync_cluster.wait_healthy()
""",
}


def test_pytest_runs_beside_an_admin_package_and_so_does_the_fixture(tmp_path: Path) -> None:
    for name, text in PROJECT.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONSAFEPATH"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_the_plugin_is_named_by_a_package_that_is_nobody_elses() -> None:
    (plugin,) = (each for each in entry_points(group="pytest11") if each.name == "qsync")
    assert plugin.value == "qsync._pytest"
