"""What the tests of screens share."""

import pytest


@pytest.fixture
def rewrite(request: pytest.FixtureRequest) -> bool:
    """Whether to record the screens again."""
    return bool(request.config.getoption("--rewrite"))
