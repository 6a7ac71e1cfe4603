"""What `make test` leaves out exists, is left to `make test-all`, and stays in a short form."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests import order, rings
from tests.repo import tree

TESTS = tree.ROOT / "tests"
MAKEFILE = (tree.ROOT / "Makefile").read_text(encoding="utf-8")


def named() -> Iterator[tuple[str, str]]:
    """Every file and function of the table; of a whole file no function."""
    for ring in rings.RINGS.values():
        for tests in (ring.leaves, ring.short):
            for file, names in tests.items():
                yield from ((file, name) for name in names or ("",))


def test_every_name_of_the_table_is_of_a_test() -> None:
    functions = {
        file: {
            node.name
            for node in ast.walk(tree.parse(TESTS / file))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        for file in {file for file, _ in named()}
    }
    gone = [
        (file, name)
        for file, name in named()
        if name and name.partition("[")[0] not in functions[file]
    ]
    assert not gone, "renamed or removed: so is its row in tests/rings.yaml"


def test_every_name_of_the_table_is_of_a_test_that_runs(request: pytest.FixtureRequest) -> None:
    """Of the files whose tests are all here: their parameters too."""
    run = {item.nodeid.removeprefix("tests/") for item in request.session.items}
    asked = request.config.option
    if asked.keyword or "slow" in asked.markexpr or any("::" in e for e in request.config.args):
        run.clear()  # of a selection it says nothing
    files = {each.partition("::")[0] for each in run}
    for ring in rings.RINGS.values():
        for file, names in ring.short.items():
            for name in names if file in files else ():
                test = f"{file}::{name}"
                assert any(each == test or each.startswith(f"{test}[") for each in run), test


def test_what_is_short_stays_and_the_rest_is_left() -> None:
    for ring in rings.RINGS.values():
        for file, names in ring.short.items():
            for name in names or ("test_of_any_name",):
                assert not rings.is_full(f"tests/{file}::{name}"), f"two rings differ on {name}"
    assert rings.is_full("tests/live/test_how_to.py::test_of_any_name")
    assert rings.is_full("tests/seeds/test_seeds.py::test_a_seed_that_once_failed_holds[1-None-9]")
    assert not rings.is_full(
        "tests/seeds/test_seeds.py::test_a_broken_rule_is_caught_within_its_budget[quorum_minus_one]"
    )
    assert not rings.is_full("tests/unit/test_raft.py::test_of_any_name")


def test_every_ring_has_a_short_form() -> None:
    for name, ring in rings.RINGS.items():
        assert ring.leaves, name
        assert ring.short, f"{name}: what shows the same in `make test`?"


def test_only_what_a_newcomer_types_leaves_tests_out() -> None:
    leaves = re.compile(r"^([a-z-]+):(?:(?!^[a-z-]+:).)*?not full", re.MULTILINE | re.DOTALL)
    assert set(leaves.findall(MAKEFILE)) == {"test-short", "unit"}
    assert re.search(r"(?m)^test:.*\n.* types test-short$", MAKEFILE)
    ci = (tree.ROOT / ".ci/run").read_text(encoding="utf-8")
    assert re.search(r"(?m)^exec make test-all ", ci)


@pytest.mark.parametrize(
    ("test", "together"),
    [
        ("tests/spark/test_tiers.py::test_one", "spark"),
        ("tests/repo/test_tidy.py::test_one", "repo"),
        ("tests/repo/test_wheel.py::test_one", "tests/repo/test_wheel.py"),
        ("tests/live/test_top.py::test_one[a::b]", "tests/live/test_top.py"),
        ("tests/seeds/test_seeds.py::test_one[1-10]", "tests/seeds/test_seeds.py::test_one[1-10]"),
        ("tests/seeds/test_long_lives.py::test_one", "tests/seeds/test_long_lives.py"),
    ],
)
def test_what_tests_share_is_made_once(test: str, together: str) -> None:
    assert order.shared(test) == together


def test_what_is_slow_comes_last_and_of_that_long_files_first() -> None:
    begins = [
        order.cost("repo", slow=False, tests=5),
        order.cost("live", slow=False, tests=1),
        order.cost("unit", slow=True, tests=1),
        order.cost("live", slow=True, tests=60),
        order.cost("live", slow=True, tests=2),
    ]
    assert begins == sorted(begins)
    assert order.cost("unit", slow=True, tests=1) == order.cost("unit", slow=True, tests=60)


def test_every_folder_of_tests_has_its_place_in_the_order() -> None:
    folders = {path.parent.relative_to(TESTS).parts[0] for path in TESTS.rglob("test_*.py")}
    assert folders == set(order.TIERS)


def test_each_test_is_in_one_share_and_days_go_round() -> None:
    tests = [f"tests/seeds/test_explore.py::test_a[{number}]" for number in range(200)]
    shares = [rings.share_of(f"{day}/7") for day in range(1, 8)]
    found = [test for share in shares for test in tests if rings.is_in_share(test, share)]
    assert sorted(found) == sorted(tests)
    assert rings.share_of("8/7") == rings.share_of("1/7")
    assert all(rings.is_in_share(test, rings.share_of("1/1")) for test in tests)


@pytest.mark.parametrize("text", ["3", "3/0", "a/b", "/", "3/-1"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"share|invalid literal"):
        rings.share_of(text)
