"""What all tests share: the cheapest run first, and a picture of what a run needs."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from qsync import form

ROOT = Path(__file__).parent
TIERS = (
    "repo",
    "unit",
    "scenarios",
    "fuzz",
    "seeds",
    "node",
    "disk",
    "live",
    "terminal",
    "spark",
)
"""Folders by how soon they can tell that something is wrong."""
REAL = ("node", "disk", "live", "terminal")
"""Folders of real processes, sockets and disks: one after another, whatever runs beside them."""

# Who starts tests in the background may ignore Ctrl-C and the end of the terminal; the processes
# that they start must not.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# No deadline: on a shared machine the slowest example says nothing about the code.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("long", settings.get_profile("house"), max_examples=20_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "house"))


def pytest_configure() -> None:
    """Nothing is shown about sources that are not the ones that run."""
    warning = form.warning()
    if warning is not None:
        raise pytest.UsageError(warning)


def pytest_report_header() -> str:
    """What the verdict is about."""
    return f"qsync: {form.form()}"


def pytest_runtest_setup(item: pytest.Item) -> None:
    """What breaks the shipped code by replacing its methods needs the sources."""
    if item.get_closest_marker("pure") and form.form() == "compiled":
        pytest.skip("it replaces methods, which compiled classes do not allow: make pure")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort by tier, keeping the (random) order within each; slow ones of a tier come last."""
    items.sort(key=_cost)


def pytest_itemcollected(item: pytest.Item) -> None:
    """With `-n`, one worker has everything real, and a file stays with one worker.

    What a module makes for its tests is made once.
    """
    group = _group(item)
    if group is not None:
        item.add_marker(pytest.mark.xdist_group(group))


def _cost(item: pytest.Item) -> tuple[bool, int]:
    tier = item.path.relative_to(ROOT).parts[0]
    place = TIERS.index(tier) if tier in TIERS else len(TIERS)
    return item.get_closest_marker("slow") is not None, place


def _group(item: pytest.Item) -> str | None:
    """What has to stay together; None of what makes nothing that others need."""
    tier = item.path.relative_to(ROOT).parts[0]
    if tier == "seeds":
        return None
    return "real" if tier in REAL else "spark" if tier == "spark" else item.path.name


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="write what transcripts say now")
