"""A sampler in a node's own process: the node is not asked, and others only if they let it in."""

import pytest
import trio

from admin.cluster.sampler import OwnAccount, Sampler
from admin.cluster.surveys import judge
from tests.terminal import cast

VARIABLES = ("QSYNC_CA", "QSYNC_CERTIFICATE", "QSYNC_USER")


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    for each in VARIABLES:
        monkeypatch.delenv(each, raising=False)


async def knocked(own: OwnAccount, door: trio.SocketListener) -> bool:
    """Does anybody come to the door of the other member while the sampler runs?"""
    sampler = Sampler((), period=60.0, own=lambda: own)
    came = False
    async with trio.open_nursery() as nursery:

        async def hang_up() -> None:
            nonlocal came
            async with await door.accept():
                came = True

        nursery.start_soon(hang_up)
        nursery.start_soon(sampler.run)
        await sampler.first()
        await trio.testing.wait_all_tasks_blocked(0.01)
        moment = sampler.moment()
        nursery.cancel_scope.cancel()
    assert set(moment.answers) == {1}, "what the node says of itself is there whoever answers"
    assert [each.id for each in moment.silent] == [2]
    assert moment.silent[0].denied != came
    assert judge(moment.survey).leader == "n1"
    return came


@pytest.mark.parametrize(
    ("more", "asked"),
    [
        ({}, True),
        ({"tls": {"on": True}}, False),
        ({"upgrade": {"features": ["users"]}}, False),
    ],
)
async def test_members_are_asked_unless_nothing_opens_them(
    more: dict[str, object], asked: bool
) -> None:
    (door,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with door:
        address = f"127.0.0.1:{door.socket.getsockname()[1]}"
        members = [[1, "n1", "127.0.0.1:1"], [2, "n2", address]]
        answer = cast.node(1, leads=True, nodes=members, **more)
        assert await knocked(OwnAccount(answer=answer), door) == asked


async def test_a_wrong_environment_is_a_reason_and_no_mistake(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("QSYNC_USER", "ann")  # whose password nobody knows here
    monkeypatch.delenv("QSYNC_PASSWORD", raising=False)
    monkeypatch.delenv("QSYNC_PASSWORD_FILE", raising=False)
    answer = cast.node(1, leads=True, nodes=[[1, "n1", "127.0.0.1:1"], [2, "n2", "127.0.0.1:2"]])
    sampler = Sampler((), period=60.0, own=lambda: OwnAccount(answer=answer))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(sampler.run)
        await sampler.first()
        nursery.cancel_scope.cancel()
    found = sampler.moment().silent
    assert [(each.name, each.denied) for each in found] == [("n2", True)]
    assert "QSYNC_PASSWORD" in found[0].why or "password" in found[0].why
