"""What an import costs: nothing heavy comes along before it is needed."""

import json
import subprocess
import sys

import pytest

from tests.repo import tree


def imported(statement: str) -> set[str]:
    """The modules that are loaded after a statement in a fresh interpreter."""
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={"PYTHONPATH": str(tree.ROOT)},
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    names: list[str] = json.loads(done.stdout)
    return set(names)


def test_import_qsync_brings_no_library_along() -> None:
    heavy = {"trio", "anyio", "lmdb", "cbor2", "click", "rich", "yaml", "msgspec", "pyspark"}
    assert not heavy & imported("import qsync")


def test_import_qsync_works_without_admin_and_cli() -> None:
    imported("import sys\nsys.modules['admin'] = sys.modules['cli'] = None\nimport qsync")


def test_the_command_line_starts_without_what_a_command_may_need() -> None:
    heavy = {"trio", "anyio", "lmdb", "yaml", "prompt_toolkit", "lupa", "pyspark", "pandas"}
    assert not heavy & imported("import cli.main")


@pytest.mark.parametrize("module", ["cli.main", "cli.commands.status", "qsync.node.node"])
def test_numpy_is_for_the_checker_alone(module: str) -> None:
    assert "numpy" not in imported(f"import {module}")


@pytest.mark.parametrize("package", ["election", "qsync.core"])
def test_the_pure_packages_load_nothing_that_waits(package: str) -> None:
    heavy = {"trio", "lmdb", "cbor2", "socket", "asyncio", "logging"}
    assert not heavy & imported(f"import {package}")
