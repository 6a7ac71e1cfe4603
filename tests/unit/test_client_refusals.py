"""An argument that no call takes is refused by name, before anything is sent, by both clients."""

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from typing_extensions import override

from qsync.client import targets
from qsync.client.async_.core_client import AsyncCoreClient
from qsync.client.async_.runner import AsyncFeedRunner
from qsync.client.blocking import Beginner, Client, Pipeline
from qsync.client.pending_request import PendingRequest
from qsync.client.sync.core_client import CoreClient
from qsync.errors import ConfigError
from tests.unit.test_client_core import Stage

SENT = "a request was sent"


class Unreached(CoreClient):
    """A blocking client that must not send anything."""

    @override
    def _settle(self, ask: PendingRequest) -> None:
        raise AssertionError(SENT)

    @override
    def _flush(self) -> None:
        raise AssertionError(SENT)

    @override
    def _reader(self) -> Client:
        raise AssertionError(SENT)


class AsyncUnreached(AsyncCoreClient):
    """Its twin."""

    @override
    async def _settle(self, ask: PendingRequest) -> None:
        raise AssertionError(SENT)

    @override
    async def _flush(self) -> None:
        raise AssertionError(SENT)

    @override
    def _reader(self) -> AsyncFeedRunner:
        raise AssertionError(SENT)


Case = tuple[str, Callable[[Any, Any], Any], str]
WAITS = "wait is complete, submit or none (a text), not "
SYNCS = "is_sync is true, false or None, not "
LEVELS = "consistency is linearizable, lease or local (a text), not "
SECONDS = "timeout is a number of seconds, not "
CASES: list[Case] = [
    ("replace wait", lambda db, bad: db.space("t").replace([1], wait=bad), WAITS),
    ("replace is_sync", lambda db, bad: db.space("t").replace([1], is_sync=bad), SYNCS),
    ("transaction", lambda db, bad: begun(db, wait=bad), WAITS),
    ("commit", lambda db, bad: db.transaction().commit(is_sync=bad), SYNCS),
    ("many", lambda db, bad: db.space("t").replace_many([[1]], wait=bad), WAITS),
    (
        "window",
        lambda db, bad: db.space("t").replace_many([[1]], window=bad),
        "window is a whole number, not ",
    ),
    ("get", lambda db, bad: db.space("t").get(1, consistency=bad), LEVELS),
    ("select", lambda db, bad: db.space("t").select(consistency=bad), LEVELS),
    ("count", lambda db, bad: db.space("t").count(consistency=bad), LEVELS),
    ("at_least", lambda db, bad: db.space("t").get(1, at_least=bad), "at_least is the receipt"),
    ("promote", lambda db, bad: db.promote(timeout=bad), SECONDS),
    ("demote", lambda db, bad: db.demote(timeout=bad), SECONDS),
    ("clear", lambda db, bad: db.clear_synchro_queue(timeout=bad), SECONDS),
    ("member", lambda db, bad: db.members.remove(2, timeout=bad), SECONDS),
    ("attempts", lambda db, bad: db.atomic(print, attempts=bad), "attempts is a whole number"),
    ("savepoint", lambda db, bad: begun(db).back_to(bad), "size is a whole number from 0 on"),
]
OTHERS: list[tuple[str, Callable[[Any], Any], str]] = [
    ("rows", lambda db: db.space("t").replace_many(None), "rows is a list of tuples, not None"),
    ("format", lambda db: db.schema.create_space("t", format=1), "format is a list of fields, not"),
    ("alter", lambda db: db.schema.alter_space("t", format="id"), "format is a list of fields"),
    ("parts", lambda db: db.schema.create_index("t", "i", None), "parts is a field, or a list"),
    ("primary", lambda db: db.schema.create_space("t", primary=1.5), "parts is a field, or a list"),
    ("settings", lambda db: db.schema.change_settings("x"), "settings is a map of names to values"),
    ("options", lambda db: db.options(7), "options is a map of names to values, not 7"),
    ("grant", lambda db: db.users.grant("bob", "read"), "privileges is a list of names"),
    ("revoke", lambda db: db.users.revoke("bob", None), "privileges is a list of names"),
    ("user", lambda db: db.users.exists([]), "name is a text, not list"),
    ("password", lambda db: db.users.set_password("bob", 12345), "password is a text, not int"),
]


def begun(db: Any, **given: Any) -> Any:
    return db.transaction(**given)


def blocking(asked: Callable[[Any], Any]) -> None:
    asked(Unreached(Stage("a:1").core, timeout=10.0))


def awaited(asked: Callable[[Any], Any]) -> None:
    async def run() -> None:
        answer = asked(AsyncUnreached(Stage("a:1").core, timeout=10.0))
        if answer is not None:
            await answer

    anyio.run(run)


@pytest.mark.parametrize("client", [blocking, awaited])
@pytest.mark.parametrize("bad", [[], {}, "x", object()], ids=["list", "map", "text", "object"])
@pytest.mark.parametrize("case", CASES, ids=[name for name, _, _ in CASES])
def test_an_argument_that_is_not_taken_is_refused_by_name(
    case: Case, bad: object, client: Callable[[Callable[[Any], Any]], None]
) -> None:
    _, asked, told = case
    with pytest.raises(ConfigError) as refusal:
        client(lambda db: asked(db, bad))
    assert refusal.value.message.startswith(told)


@pytest.mark.parametrize("client", [blocking, awaited])
@pytest.mark.parametrize("case", OTHERS, ids=[name for name, _, _ in OTHERS])
def test_what_is_no_list_map_or_text_is_refused_by_name(
    case: tuple[str, Callable[[Any], Any], str], client: Callable[[Callable[[Any], Any]], None]
) -> None:
    _, asked, told = case
    with pytest.raises(ConfigError) as refusal:
        client(asked)
    assert refusal.value.message.startswith(told)
    assert "12345" not in refusal.value.message, "no message has a password in it"


class Nobody(Beginner):
    """What a pipeline would ask."""

    @override
    def submit(self, call: Any, *, timeout: float | None = None) -> PendingRequest:
        raise AssertionError(SENT)

    @override
    def settle(self, ask: PendingRequest) -> None:
        raise AssertionError(SENT)


@pytest.mark.parametrize("window", [None, "x", [], 1.5, True])
def test_the_window_of_a_pipeline_is_a_whole_number(window: Any) -> None:
    with pytest.raises(ConfigError, match="window is a whole number, not"):
        Pipeline(Nobody(), window)


@pytest.mark.parametrize("target", [None, 1.5, b"h:1", [1], [["h:1"]]])
def test_a_target_is_a_text_or_a_list_of_them(target: Any) -> None:
    with pytest.raises(ConfigError, match=r"target is host:port, or a list|an address is a text"):
        targets.parse(target)
