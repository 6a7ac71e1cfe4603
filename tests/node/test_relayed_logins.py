"""A man in the middle, with the key of a certificate that the client trusts."""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import pytest
import trio

import qsync
from qsync.client.login import Credentials
from qsync.client.one_node import NodeConnection
from qsync.client.one_node_aio import AsyncNodeConnection
from qsync.client.security import ClientTls
from qsync.errors import AccessDenied, QsyncError
from qsync.node.logins import WRONG
from qsync.tls import binding, files
from qsync.tls.files import TlsFiles
from tests.certificates import Authority
from tests.node.knocking import CLUSTER, config

ROOT = Credentials("root", "correct horse")
PIECE = 65_536
_BROKEN = (trio.BrokenResourceError, trio.ClosedResourceError)


async def _carry(one: trio.abc.Stream, other: trio.abc.Stream, done: Callable[[], None]) -> None:
    """What comes from the one goes to the other, until one of them ends."""
    with suppress(*_BROKEN):
        while piece := await one.receive_some(PIECE):
            await other.send_all(piece)
    done()


@asynccontextmanager
async def relay(to: str, pair: TlsFiles) -> AsyncIterator[str]:
    """An address behind which each byte goes to the node and back, over another TLS channel."""
    host, port = to.split(":")
    shown = files.acceptor(pair, demand=False)
    dialer = files.dialer(TlsFiles(ca=pair.ca), check_host=False)

    async def between(stream: trio.SocketStream) -> None:
        near = trio.SSLStream(stream, shown, server_side=True)
        plain = await trio.open_tcp_stream(host, int(port))
        far = trio.SSLStream(plain, dialer, server_hostname=host)
        try:
            async with trio.open_nursery() as nursery:
                over = nursery.cancel_scope.cancel
                nursery.start_soon(_carry, near, far, over)
                nursery.start_soon(_carry, far, near, over)
        finally:
            stream.socket.close()
            plain.socket.close()

    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, between, listeners)
        yield f"127.0.0.1:{listeners[0].socket.getsockname()[1]}"
        nursery.cancel_scope.cancel()


Login = Callable[[str, ClientTls], Awaitable[None]]


def _one_node(address: str, tls: ClientTls) -> None:
    NodeConnection(address, timeout=5.0, tls=tls, credentials=ROOT).close()


def _cluster(address: str, tls: ClientTls) -> None:
    with qsync.connect(address, tls=tls, user=ROOT.user, password=ROOT.password, direct=True):
        pass


async def _aside(login: Callable[[str, ClientTls], None], address: str, tls: ClientTls) -> None:
    await trio.to_thread.run_sync(login, address, tls)


async def _one_node_aio(address: str, tls: ClientTls) -> None:
    await (await AsyncNodeConnection.open(address, tls=tls, credentials=ROOT)).close()


async def _cluster_aio(address: str, tls: ClientTls) -> None:
    async with qsync.connect_async(
        address, tls=tls, user=ROOT.user, password=ROOT.password, direct=True
    ):
        pass


LOGINS: dict[str, Login] = {
    "one node": partial(_aside, _one_node),
    "cluster": partial(_aside, _cluster),
    "one node, waiting": _one_node_aio,
    "cluster, waiting": _cluster_aio,
}


@asynccontextmanager
async def _with_users(path: Path, authority: Authority) -> AsyncIterator[tuple[str, ClientTls]]:
    """The address of a node over TLS that has users, and how a client without certificate speaks.

    Somebody with a certificate of `admin` is there before the first user, and not after.
    """
    pair = {key.replace(".", "__"): value for key, value in _flags(authority).items()}
    tls = authority.client(None)
    async with qsync.Node(config(path, alone=True, tls__clients="optional", **pair)) as node:
        admin = authority.client(authority.user("admin"))
        early = await AsyncNodeConnection.open(node.address, tls=admin)
        async with qsync.connect_async(node.address, tls=tls) as db:
            await db.users.create(ROOT.user, ROOT.password)
        with trio.fail_after(5.0), pytest.raises(QsyncError):
            await early.receive()
        await early.close()
        yield node.address, tls


def _flags(authority: Authority) -> dict[str, str]:
    return authority.flags(authority.node("n1"))


async def test_who_passes_a_login_on_is_not_let_in_by_it(tmp_path: Path) -> None:
    """Each client logs in at the node itself, and through the relay none does."""
    authority = Authority(tmp_path / "certs", cluster=CLUSTER)
    async with _with_users(tmp_path, authority) as (address, tls):
        for login in LOGINS.values():
            await login(address, tls)
        async with relay(address, authority.files(authority.node("n1", file="stolen"))) as between:
            for login in LOGINS.values():
                with pytest.raises(AccessDenied, match=WRONG):
                    await login(between, tls)
        await _one_node_aio(address, tls)


async def test_without_the_binding_the_relay_would_be_let_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is: nothing else keeps it out, and it is a good relay."""
    authority = Authority(tmp_path / "certs", cluster=CLUSTER)
    async with _with_users(tmp_path, authority) as (address, tls):
        monkeypatch.setattr(binding, "of", lambda _: b"")
        async with relay(address, authority.files(authority.node("n1", file="stolen"))) as between:
            await _one_node_aio(between, tls)


def test_both_ends_know_the_channel_by_one_name_and_no_other_has_it(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    found = [_ends(authority) for _ in range(2)]
    assert all(near == far for near, far in found)
    assert found[0] != found[1]
    assert all(len(near) >= 32 for near, _ in found)


def _ends(authority: Authority) -> tuple[bytes, bytes]:
    """What both ends of a fresh connection are bound to."""
    shown = files.acceptor(authority.files(authority.node("n1")), demand=False)
    dialer = files.dialer(TlsFiles(ca=authority.ca), check_host=False)
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    near = shown.wrap_bio(there, back, server_side=True)
    far = dialer.wrap_bio(back, there)
    for side in (far, near, far, near):
        with suppress(ssl.SSLWantReadError):
            side.do_handshake()
    return binding.of(near), binding.of(far)
