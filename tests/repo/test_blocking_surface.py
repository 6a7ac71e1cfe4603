"""The blocking client is the async one without `await`: its text is made, its signatures agree."""

import inspect
import re
from typing import Any

import pytest

from qsync.client import aio, blocking
from qsync.client.async_ import feeds as async_feeds
from qsync.client.async_ import runner as async_runner
from qsync.client.async_ import schema as async_schema
from qsync.client.async_ import space as async_space
from qsync.client.async_ import transaction as async_transaction
from qsync.client.sync import feeds, runner, schema, space, transaction
from tests.repo import blocking_surface

PAIRS = (
    (aio.AsyncClient, blocking.Client),
    (async_schema.AsyncSchema, schema.ClientSchema),
    (async_space.AsyncSpace, space.Space),
    (async_transaction.AsyncTransaction, transaction.Transaction),
    (async_transaction.AsyncTransactionSpace, transaction.TransactionSpace),
    (async_runner.AsyncManyRunner, runner.ManyRunner),
    (async_feeds.AsyncFeed, feeds.Feed),
    (async_feeds.AsyncValues, feeds.Values),
)
BLOCKING_ONLY = {
    "Client": {"close", "pipeline", "session", "settle", "submit"},
    "Feed": {"close"},
    "Values": {"close"},
}
"""An async client has tasks instead of a pipeline, and `async with` instead of `close`."""


@pytest.fixture(scope="session")
def rewrite(request: pytest.FixtureRequest) -> bool:
    """Rewrite the blocking interface instead of comparing it?"""
    return bool(request.config.getoption("--rewrite"))


@pytest.mark.parametrize("name", blocking_surface.names())
def test_the_blocking_surface_is_made_from_the_async_one(name: str, *, rewrite: bool) -> None:
    made = blocking_surface.blocking(name)
    there = blocking_surface.MADE / name
    if rewrite:
        there.write_text(made, encoding="utf-8")
    assert there.read_text(encoding="utf-8") == made, (
        "pytest tests/repo -k blocking_surface --rewrite"
    )


def test_nothing_else_is_among_what_is_made() -> None:
    there = {path.name for path in blocking_surface.MADE.glob("*.py")}
    assert there == {"__init__.py", *blocking_surface.names()}


def methods(surface: type) -> dict[str, Any]:
    """Public methods and properties, inherited ones too."""
    names = [name for name in dir(surface) if not name.startswith("_")]
    return {name: inspect.getattr_static(surface, name) for name in names}


def signature(method: Any) -> str:
    """Parameters, defaults and result, as they are on the blocking surface."""
    function: Any = method.fget if isinstance(method, property) else method
    said = str(inspect.signature(function))
    said = re.sub(r"(?:\w+\.)+(\w)", r"\1", said)
    said = re.sub(r"Awaitable\[(~?\w+)\]", r"\1", said)
    return re.sub(r"\w+", lambda found: blocking_surface.NAMES.get(found[0], found[0]), said)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[1].__name__)
def test_both_surfaces_have_the_same_names_parameters_and_results(pair: tuple[type, type]) -> None:
    asynchronous, synchronous = pair
    theirs, ours = methods(asynchronous), methods(synchronous)
    assert theirs.keys() <= ours.keys()
    assert ours.keys() - theirs.keys() == BLOCKING_ONLY.get(synchronous.__name__, set())
    for name in theirs.keys() & ours.keys():
        assert signature(theirs[name]) == signature(ours[name]), name
        assert not inspect.iscoroutinefunction(ours[name])


def test_connecting_takes_the_same_parameters() -> None:
    there = inspect.signature(aio.connect_async).parameters
    assert list(inspect.signature(blocking.connect).parameters.values()) == list(there.values())
