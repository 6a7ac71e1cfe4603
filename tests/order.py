"""In which order tests run, and which of them one after another in one process."""

from pathlib import PurePosixPath

TIERS = (
    "repo",
    "unit",
    "scenarios",
    "fuzz",
    "model",
    "seeds",
    "node",
    "disk",
    "spark",
    "terminal",
    "live",
)
"""Folders by how soon they can tell that something is wrong.

Of the slow ones Spark comes first: one process has all its tests, and must not begin last.
"""
LONG = ("terminal", "live")
"""Folders whose files take long: one with many tests begins early, and is not the last to run."""
ALONE = ("model", "seeds")
"""Folders of tests that share nothing with each other."""
PARTS = ("tests/repo/test_wheel.py", "tests/repo/test_site.py")
"""Of the tests of the tree those that parse no sources: all others share what is parsed once."""
TOGETHER = ("tests/seeds/test_long_lives.py",)
"""Files there whose tests share what takes long to make."""


def cost(folder: str, *, slow: bool, tests: int) -> tuple[bool, int, int]:
    """What decides when a test runs, the least first; `tests`: how many its file has."""
    return slow, TIERS.index(folder), -tests if folder in LONG else 0


def shared(test: str) -> str:
    """What has to stay together with the test of this id: a tier, a file, or that test alone."""
    file, _, _ = test.partition("::")
    tier = PurePosixPath(file).parts[1]
    if tier in ALONE and file not in TOGETHER:
        return test
    return tier if tier == "spark" or (tier == "repo" and file not in PARTS) else file
