"""The `--rewrite` switch of transcripts."""

import pytest


@pytest.fixture
def rewrite(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--rewrite"))
