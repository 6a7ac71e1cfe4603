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
    "qsync.data",
    "qsync.data.operation_kinds",
    "qsync.data.tags",
}
"""Of the rooms where a node decides: the numbers and names that stand in requests and answers."""


def imported(statement: str) -> set[str]:
    """The modules that are loaded after a statement in a fresh interpreter."""
    done = run(f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))")
    names: list[str] = json.loads(done.stdout)
    return set(names)


def run(code: str) -> "subprocess.CompletedProcess[str]":
    """Run code in a fresh interpreter."""
    return subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={"PYTHONPATH": str(tree.ROOT)},
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )


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


@pytest.mark.parametrize("name", ["cert", "data", "doctor", "explain", "help", "top", "users"])
def test_the_module_of_a_light_command_loads_the_rest_when_it_runs(name: str) -> None:
    late = ("admin.lab", "admin.cluster", "concurrent", "msgspec", "qsync.client", "rich", "yaml")
    found = imported(f"import cli.commands.{name}")
    assert {module for module in found if module.startswith(late)} == set()


def test_the_process_of_a_node_loads_nothing_that_operators_and_clients_use() -> None:
    theirs = ("admin", "anyio", "asyncio", "cryptography", "qsync.client", "qsync.sim", "rich")
    found = imported("import cli.main, cli.commands.node, qsync.node.run")
    assert {module for module in found if module.startswith(theirs)} == set()


def test_to_explain_an_error_of_the_database_loads_nothing_else_that_fails() -> None:
    found = imported("from cli import explanations\nexplanations.explain('NOT_LEADER')")
    assert not {"admin", "trio", "qsync.client"} & found


@pytest.mark.parametrize("name", ["lab", "member", "status"])
def test_only_who_reads_a_configuration_loads_yaml(name: str) -> None:
    assert not {"yaml", "qsync.config.node"} & imported(f"import cli.commands.{name}")


@pytest.mark.parametrize("module", [*CLIENTS, *ASKING])
def test_who_asks_a_node_loads_none_of_its_rules(module: str) -> None:
    rules = ("election", "qsync.core", "qsync.data", "qsync.node", "qsync.store.contract")
    found = {name for name in imported(f"import {module}") if name.startswith(rules)}
    assert found - NAMES_ALONE == set()


@pytest.mark.parametrize("package", ["election", "qsync.core"])
def test_the_pure_packages_load_nothing_that_waits(package: str) -> None:
    heavy = {"trio", "lmdb", "cbor2", "socket", "asyncio", "logging"}
    assert not heavy & imported(f"import {package}")


def test_a_command_looks_for_no_garbage_in_what_it_loads_and_neither_does_its_end() -> None:
    """Collections take a tenth of a short command, and as much of the start of a node."""
    done = run(
        "import gc, sys\nfrom qsync.__main__ import main\n"
        "sys.argv = ['qsync', 'node', '--help']\ncollections = []\n"
        "gc.callbacks.append(lambda phase, _: collections.append(phase))\n"
        "try:\n    main()\n"
        "finally:\n    print(len(collections), len(gc.get_objects()), gc.get_freeze_count(),"
        " file=sys.stderr)"
    )
    collected, seen, frozen = map(int, done.stderr.split())
    assert collected == 0
    assert seen < frozen / 10
