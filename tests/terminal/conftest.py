"""What the tests of screens share."""

import pytest


@pytest.fixture
def rewrite(request: pytest.FixtureRequest) -> bool:
    """Are the screens to be recorded anew?"""
    return bool(request.config.getoption("--rewrite"))
