"""What an import costs: nothing heavy comes along before it is needed."""

import json
import subprocess
import sys

import pytest

from tests.repo import tree

CLIENTS = ("qsync.client.blocking", "qsync.client.aio")
ASKING = ("admin.cluster.ask", "cli.targets", "cli.commands.status", "cli.commands.data")
NAMES_ALONE = {
    "election",
    "election.messages",
    "qsync.core",
    "qsync.core.conclusions",
    "qsync.core.consistency",
}
"""Of the rooms where a node decides: the numbers and names that stand in requests and answers."""


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


@pytest.mark.parametrize("module", [*CLIENTS, *ASKING])
def test_who_asks_a_node_loads_none_of_its_rules(module: str) -> None:
    rules = ("election", "qsync.core", "qsync.node", "qsync.store.segments", "qsync.store.contract")
    found = {name for name in imported(f"import {module}") if name.startswith(rules)}
    assert found - NAMES_ALONE == set()


@pytest.mark.parametrize("module", ASKING)
def test_a_command_that_asks_nodes_for_their_status_reads_no_rows(module: str) -> None:
    found = {name for name in imported(f"import {module}") if name.startswith("qsync.data")}
    assert found - {"qsync.data", "qsync.data.tags"} == set()


@pytest.mark.parametrize("package", ["election", "qsync.core"])
def test_the_pure_packages_load_nothing_that_waits(package: str) -> None:
    heavy = {"trio", "lmdb", "cbor2", "socket", "asyncio", "logging"}
    assert not heavy & imported(f"import {package}")
