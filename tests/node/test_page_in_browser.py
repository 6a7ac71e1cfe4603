"""The status page in a real browser without a window: what people see, and what nobody may run."""

from base64 import b64encode
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from admin.cluster.sampler import OwnAccount
from admin.metrics import server
from admin.metrics.answers import HttpPages
from admin.metrics.token import BearerToken
from admin.page.look import ClusterLook
from admin.page.served import rendered
from qsync.status import decode
from qsync.status.record import NodeStatus
from tests.browser import CONTRASTS, Browser, browsing
from tests.terminal import cast

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
HOSTILE = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
VERDICT = "document.getElementById('verdict').textContent"
STALE = "!document.getElementById('stale').hidden"


class TalkingNode:
    """A node that leads alone, and says what a test wants it to."""

    def __init__(self, **more: Any) -> None:
        self.more = more

    def answer(self) -> dict[str, object]:
        alone: dict[str, Any] = {
            "nodes": [[1, "n1", "127.0.0.1:3301"]],
            "peers": [],
            "synchro": cast.limbo(quorum=1),
        }
        return cast.node(1, **(alone | {"leads": True} | self.more))

    @property
    def status(self) -> NodeStatus:
        return decode.status(self.answer())

    def own(self) -> OwnAccount:
        return OwnAccount(answer=self.answer(), events=(cast.event(5.0, "rollback", why=HOSTILE),))


@asynccontextmanager
async def served(node: TalkingNode, token: BearerToken | None = None) -> AsyncIterator[str]:
    """Where its page is. The node ends with the block."""
    mistakes: list[Exception] = []
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listeners[0].socket.getsockname()[1]
    look = ClusterLook(
        node.own, lambda picture: rendered(picture, node.status), survive=mistakes.append
    )
    async with trio.open_nursery() as nursery:
        nursery.start_soon(look.run)
        pages = HttpPages(lambda: node.status, look)
        serving = partial(server.serve, survive=mistakes.append)
        nursery.start_soon(serving, listeners, pages, None, token)
        yield f"http://127.0.0.1:{port}/"
        nursery.cancel_scope.cancel()
    assert mistakes == []


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browsing(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture
def fresh(browser: Browser) -> Browser:
    """Nothing asked, nothing to complain of."""
    browser.requests.clear()
    browser.complaints.clear()
    return browser


async def test_it_is_shown_and_asks_for_nothing_from_elsewhere(fresh: Browser) -> None:
    async with served(TalkingNode()) as url:
        await trio.to_thread.run_sync(fresh.open, url)
        said = await trio.to_thread.run_sync(fresh.run, VERDICT)
        assert said.startswith("Healthy: n1 leads term 7 and commits")
        rows = "document.querySelectorAll('#nodes tbody tr').length"
        assert await trio.to_thread.run_sync(fresh.run, rows) == 1
    assert {each for each in fresh.requests if not each.startswith("data:")} == {url}
    assert fresh.complaints == []


async def test_texts_of_others_run_nowhere(fresh: Browser) -> None:
    hostile = TalkingNode(
        name=HOSTILE,
        cluster={"name": HOSTILE},
        version=HOSTILE,
        spaces={"differs": [HOSTILE]},
        faults=[{"point": HOSTILE}],
    )
    async with served(hostile) as url:
        await trio.to_thread.run_sync(fresh.open, url)
        found = "[document.title.includes('taken\\'</script>'), document.images.length, "
        found += "document.scripts.length, document.querySelector('h1').textContent]"
        told = await trio.to_thread.run_sync(fresh.run, found)
    assert told == [True, 0, 1, HOSTILE]
    assert fresh.complaints == []


async def test_what_got_in_all_the_same_would_not_run(fresh: Browser) -> None:
    """The policy is the second wall: here the first one is taken away."""
    async with served(TalkingNode()) as url:
        await trio.to_thread.run_sync(fresh.open, url)
        put = (
            "document.body.insertAdjacentHTML('beforeend', "
            "'<img src=x onerror=\"document.title=1\">');"
            "const more = document.createElement('script'); more.textContent = 'document.title=2';"
            "document.body.append(more)"
        )
        await trio.to_thread.run_sync(fresh.run, put)
        await trio.to_thread.run_sync(fresh.until, "true")
        assert "healthy" in await trio.to_thread.run_sync(fresh.run, "document.title")
    assert "Content Security Policy" in " ".join(fresh.complaints)


async def test_it_renews_itself_and_says_when_it_is_old(fresh: Browser) -> None:
    node = TalkingNode()
    async with served(node) as url:
        await trio.to_thread.run_sync(fresh.open, url)
        await trio.to_thread.run_sync(fresh.run, "window.kept = true")
        node.more = {"ro": True, "ro_reason": "config"}
        await trio.to_thread.run_sync(fresh.until, f"{VERDICT}.startsWith('Down: n1 leads')")
        assert await trio.to_thread.run_sync(fresh.run, "window.kept"), "it was not loaded anew"
        assert not await trio.to_thread.run_sync(fresh.run, STALE)
    await trio.to_thread.run_sync(fresh.until, STALE)
    said = await trio.to_thread.run_sync(fresh.run, "document.getElementById('stale').textContent")
    assert said.startswith("This is old: the node was last heard at ")


async def test_it_can_be_read_in_light_and_dark_on_a_telephone_and_a_screen(
    fresh: Browser,
) -> None:
    async with served(TalkingNode(ro=True, ro_reason="config", disk={"error": "no room"})) as url:
        for dark in (False, True):
            for width in (360, 1100):
                fresh.look(dark=dark, width=width)
                await trio.to_thread.run_sync(fresh.open, url)
                assert await trio.to_thread.run_sync(fresh.run, CONTRASTS) == []
                fits = "document.documentElement.scrollWidth <= innerWidth"
                assert await trio.to_thread.run_sync(fresh.run, fits)
    fresh.look()


async def test_a_browser_that_knows_the_token_as_password_gets_in(
    fresh: Browser, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("a token of a reader")
    shown = {"Authorization": "Basic " + b64encode(b"me:a token of a reader").decode()}
    async with served(TalkingNode(), BearerToken(file)) as url:
        await trio.to_thread.run_sync(lambda: fresh.open(url, headers=shown))
        assert "commits" in await trio.to_thread.run_sync(fresh.run, VERDICT)
