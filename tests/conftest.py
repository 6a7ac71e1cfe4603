"""What all tests share: the cheapest run first, and a picture of what a run needs."""

import gc
import os
import signal
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qsync import form
from tests import examples, order, rings

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).parent

# Who starts tests in the background may ignore Ctrl-C and the end of the terminal; the processes
# that they start must not.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
# Else each process that a test starts would compile its sources again (see the Makefile).
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_configure() -> None:
    """Nothing is shown about sources that are not the ones that run."""
    warning = form.warning()
    if warning is not None:
        raise pytest.UsageError(warning)


def pytest_report_header() -> str:
    """What the verdict is about."""
    return f"qsync: {form.form()}; {examples.scaled(examples.USUAL)} examples of each property"


def pytest_runtest_setup(item: pytest.Item) -> None:
    """What replaces methods and constants of the shipped code, or copies it, needs the sources."""
    if item.get_closest_marker("pure") and form.form() == "compiled":
        pytest.skip("it replaces or copies parts of compiled code, which cannot be: make pure")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort by tier, keeping the (random) order within each; slow ones come last."""
    _leave_share(config, items)
    tests = Counter(item.path for item in items)
    items.sort(key=lambda item: _cost(item, tests[item.path]))


def pytest_itemcollected(item: pytest.Item) -> None:
    """What `make test` leaves out is said in one place."""
    if rings.is_full(item.nodeid):
        item.add_marker(pytest.mark.full)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """What was imported and collected stays until the end: the collector need not look at it."""
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> "LoadScopeScheduling":
    """With `-n`, a process has all tests of a file: what they share is made once.

    By their names: xdist's own groups (`--dist loadgroup`) do nothing under pytest 9.2, where the
    name of a test cannot be changed any more.
    """
    from xdist.scheduler import LoadScopeScheduling  # noqa: PLC0415 - only where there is `-n`

    config.option.loadscopereorder = False  # the order of tiers, not of sizes
    scheduler = LoadScopeScheduling(config, log)
    scheduler._split_scope = order.shared
    return scheduler


def _leave_share(config: pytest.Config, items: list[pytest.Item]) -> None:
    text = config.getoption("--share")
    if text is None:
        return
    try:
        share = rings.share_of(text)
    except ValueError as error:
        raise pytest.UsageError(f"--share: {error}") from None
    others = [item for item in items if not rings.is_in_share(item.nodeid, share)]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if rings.is_in_share(item.nodeid, share)]


def _cost(item: pytest.Item, tests: int) -> tuple[bool, int, int]:
    folder = item.path.relative_to(ROOT).parts[0]
    slow = item.get_closest_marker("slow") is not None
    return order.cost(folder, slow=slow, tests=tests)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="write what transcripts say now")
    parser.addoption("--share", metavar="K/N", help="run the Kth of N shares of the tests")
