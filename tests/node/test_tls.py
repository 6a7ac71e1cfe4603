"""Nodes that speak TLS: who gets in, who does not, and certificates that change under load."""

import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import anyio
import pytest
import trio

import qsync
from admin.certs.making import KeyPair
from admin.metrics.server import open_metrics
from election.messages import Replica
from qsync.client.aio import AsyncClient
from qsync.client.one_node import NodeConnection
from qsync.client.one_node_aio import AsyncNodeConnection
from qsync.client.security import ClientTls
from qsync.client.streams import open_stream
from qsync.config import NodeConfig
from qsync.errors import ConfigError, QsyncError, Unavailable
from qsync.node.links import LinkStatus, PeerLink
from qsync.node.listener import STRANGERS_MAX
from qsync.node.node import Node, open_node
from qsync.tls import files
from qsync.tls.files import TlsFiles
from qsync.wire import replies
from qsync.wire.frames import LENGTH
from qsync.wire.limits import HANDSHAKE_BYTES_MAX
from qsync.wire.proofs import NONCE_BYTES
from qsync.wire.session import Hello, Party
from qsync.wire.verbs import PlainRequest, Verb
from tests.certificates import AGO, AHEAD, Authority
from tests.node.knocking import CLUSTER as ALONE
from tests.node.knocking import config as alone
from tests.node.three import CLUSTER, configs, leaders, link, running, until

NODES = (1, 2, 3)


def secured(path: Path, authority: Authority) -> list[NodeConfig]:
    """Three members with certificates of that authority."""
    return configs(path, changed={n: authority.flags(authority.node(f"n{n}")) for n in NODES})


@asynccontextmanager
async def one(path: Path, authority: Authority, **flags: str) -> AsyncIterator[Node]:
    """A node alone, over TLS."""
    found = alone(path, alone=True, **flags, **_keys(authority))
    async with open_node(found) as node:
        yield node


def _keys(authority: Authority) -> dict[str, str]:
    flags = authority.flags(authority.node("n1"))
    return {key.replace(".", "__"): value for key, value in flags.items()}


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "certs", cluster=ALONE)


async def dial(node: Node, tls: ClientTls | None, **given: object) -> str:
    """A client's connection from a thread: who answered, or why it was refused."""

    def ask() -> str:
        hello = given.get("hello", Hello(party=Party.CLIENT))
        assert isinstance(hello, Hello)
        with NodeConnection(node.address, timeout=5.0, tls=tls, hello=hello) as line:
            return line.greeting.name

    try:
        return await trio.to_thread.run_sync(ask)
    except QsyncError as error:
        return str(error)


# -------------------------------------------------------------------- the hostile client's list


async def test_a_stranger_gets_in_by_no_way_and_is_told_why(
    tmp_path: Path, authority: Authority
) -> None:
    other = Authority(tmp_path / "other", cluster=ALONE)
    foreign = authority.user("ann", file="foreign", cluster=CLUSTER)
    async with one(tmp_path, authority) as node:
        good = authority.client(authority.user("ann"))
        assert await dial(node, good) == "n1"
        cases = {
            "the other side wants a certificate": authority.client(None),
            "does not know who signed our certificate": ClientTls(
                ca=str(authority.ca),
                certificate=str(other.user("ann").certificate),
                key=str(other.user("ann").key),
            ),
            "no authority that is trusted here signed": other.client(other.user("ann")),
            "our certificate has expired": authority.client(
                authority.user("ann", file="late", now=AGO)
            ),
            "refuses our certificate": authority.client(
                authority.user("ann", file="early", now=AHEAD)
            ),
            "the certificate is of cluster": authority.client(foreign),
            "a node's opens no session of a client": authority.client(authority.node("n1")),
            "names no node and no user of a cluster": authority.client(authority.other("web")),
        }
        for why, tls in cases.items():
            assert why in await dial(node, tls), why
        peer = Hello(
            party=Party.PEER,
            cluster=ALONE,
            instance=node.identity.instance,
            replica=Replica(2),
            name="n2",
            nonce=bytes(NONCE_BYTES),
        )
        assert "the certificate of user ann" in await dial(node, good, hello=peer)
        n3 = authority.client(authority.node("n3"))
        assert "shows the certificate of node n3" in await dial(node, n3, hello=peer)
        assert node.server.refused["tls"] >= 4
        assert node.server.refused["access_denied"] == 4
        assert node.server.refused["foreign_cluster"] == 1
        assert not node.timeline.counts["mishap"]
        assert await dial(node, good) == "n1", "and it serves on"


async def test_the_log_says_who_was_refused_and_what_tls_said(
    tmp_path: Path, authority: Authority
) -> None:
    said: list[Mapping[str, object]] = []

    def tell(name: str, fields: Mapping[str, object]) -> None:
        if name == "refused":
            said.append(fields)

    async with one(tmp_path, authority) as node:
        node.timeline.told = tell
        late = authority.client(authority.user("ann", file="late", now=AGO))
        await dial(node, late)
        await dial(node, authority.client(authority.node("n1")))
        await until(lambda: len(said) == 2, "both are in the log")
    assert said[0] == {
        "why": "tls",
        "error": "the other side's certificate has expired",
        "address": "127.0.0.1",
    }
    assert said[1]["address"] == "127.0.0.1"
    assert "a node's opens no session" in str(said[1]["told"])


async def test_a_client_checks_whom_it_dialled(tmp_path: Path, authority: Authority) -> None:
    async with one(tmp_path, authority) as node:
        tls = authority.client(authority.user("ann"))
        port = node.address.rpartition(":")[2]

        def ask(address: str, tls: ClientTls) -> str:
            try:
                with NodeConnection(address, timeout=5.0, tls=tls) as line:
                    return line.greeting.name
            except Unavailable as error:
                return str(error)

        assert await trio.to_thread.run_sync(ask, f"localhost:{port}", tls) == "n1"
        mismatch = await trio.to_thread.run_sync(ask, f"127.0.0.2:{port}", tls)
        assert "IP address mismatch" in mismatch or "refused" in mismatch.lower()


async def test_where_certificates_are_optional_only_a_client_needs_none(
    tmp_path: Path, authority: Authority
) -> None:
    async with one(tmp_path, authority, tls__clients="optional") as node:
        assert await dial(node, authority.client(None)) == "n1"
        assert await dial(node, authority.client(authority.other("web"))) == "n1"
        peer = Hello(
            party=Party.PEER,
            cluster=ALONE,
            instance=node.identity.instance,
            replica=Replica(2),
            name="n2",
            nonce=bytes(NONCE_BYTES),
        )
        said = await dial(node, authority.client(None), hello=peer)
        assert "n2 shows no certificate" in said


async def test_a_slow_handshake_is_ended_in_time_and_half_of_one_holds_nobody_up(
    tmp_path: Path, authority: Authority
) -> None:
    async with one(tmp_path, authority, limits__handshake_timeout="200ms") as node:
        host, port = node.address.split(":")
        context = files.dialer(authority.files(authority.user("ann")), check_host=False)
        out = ssl.MemoryBIO()
        with suppress(ssl.SSLWantReadError):
            context.wrap_bio(ssl.MemoryBIO(), out).do_handshake()
        hello = out.read()
        slow = [await trio.open_tcp_stream(host, int(port)) for _ in range(20)]
        for number, stream in enumerate(slow):
            await stream.send_all(hello[: 1 + number * 10])
        assert await dial(node, authority.client(authority.user("ann"))) == "n1"
        for stream in slow:
            with suppress(trio.BrokenResourceError):
                assert await stream.receive_some(1) == b""
            await stream.aclose()
        assert node.server.refused["handshake_timeout"] == len(slow)


async def test_handshakes_by_the_thousand_that_never_end_keep_nobody_out(
    tmp_path: Path, authority: Authority
) -> None:
    """From eight addresses, each within its own limit: the oldest go when there are too many."""
    async with one(tmp_path, authority, limits__connections_max="50") as node:
        host, port = node.address.split(":")
        slow: list[socket.socket] = []
        try:
            for number in range(1000):
                here = (f"127.0.0.{2 + number % 8}", 0)
                slow.append(socket.create_connection((host, int(port)), source_address=here))
                slow[-1].send(b"\x16\x03\x01\x02\x00\x01"[: number % 7])
                if number % 100 == 99:
                    await trio.lowlevel.checkpoint()
                    assert await dial(node, authority.client(authority.user("ann"))) == "n1"
            assert len(node.server.strangers) <= 50 + STRANGERS_MAX
            assert node.server.refused["strangers"] >= 1000 - 50 - STRANGERS_MAX
        finally:
            for each in slow:
                each.close()
        await until(lambda: len(node.reactor) == 0, "all of them are gone")


async def test_metrics_are_told_over_tls_to_who_shows_nothing(
    tmp_path: Path, authority: Authority
) -> None:
    found = alone(tmp_path, alone=True, metrics__listen="127.0.0.1:0", **_keys(authority))
    async with open_metrics(found) as served, open_node(found) as node:
        assert served is not None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(served.serve, node)
            host, port = served.address.split(":")
            context = files.dialer(TlsFiles(ca=authority.ca), check_host=True)
            stream = await trio.open_ssl_over_tcp_stream(
                host, int(port), ssl_context=context, https_compatible=True
            )
            await stream.send_all(b"GET /metrics HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n")
            said = b""
            async for more in stream:
                said += more
            assert b"qsync_certificate_seconds_left" in said
            await trio.aclose_forcefully(stream)
            plain = await trio.open_tcp_stream(host, int(port))
            await plain.send_all(b"GET /metrics HTTP/1.1\r\nHost: n\r\n\r\n")
            assert b"qsync" not in await plain.receive_some(65536)
            await plain.aclose()
            nursery.cancel_scope.cancel()


async def test_certificates_are_read_again_when_somebody_asks_for_it(
    tmp_path: Path, authority: Authority
) -> None:
    """Which is in use then is the answer, and why it is not the one in the files."""
    async with one(tmp_path, authority) as node:
        tls = authority.client(authority.user("ann"))

        def ask() -> dict[str, object]:
            with NodeConnection(node.address, timeout=5.0, tls=tls) as line:
                return replies.read_map(line.ask(PlainRequest(1, Verb.RELOAD)))

        first = await trio.to_thread.run_sync(ask)
        authority.node("n1")
        second = await trio.to_thread.run_sync(ask)
        assert second["serial"] != first["serial"]
        assert second["error"] is None
        authority.node("n2", file="n1")
        third = await trio.to_thread.run_sync(ask)
        assert third["serial"] == second["serial"]
        assert "is of node n2" in str(third["error"])
        assert node.timeline.counts["certificate_read"] >= 2
        assert node.timeline.counts["certificate_refused"] >= 1


async def test_a_node_without_tls_has_no_certificates_to_read(tmp_path: Path) -> None:
    async with open_node(alone(tmp_path, alone=True)) as node:

        def ask() -> None:
            with NodeConnection(node.address, timeout=5.0) as line:
                line.ask(PlainRequest(1, Verb.RELOAD))

        with pytest.raises(ConfigError, match="speaks no TLS"):
            await trio.to_thread.run_sync(ask)


async def test_one_host_alone_does_not_keep_the_others_out(tmp_path: Path) -> None:
    """Without TLS, where a refusal can be said: the first ones stay, one more is told why."""
    found = alone(tmp_path, alone=True, limits__handshakes_per_address_max="3")
    async with open_node(found) as node:
        host, port = node.address.split(":")
        held = [await trio.open_tcp_stream(host, int(port)) for _ in range(3)]
        for stream in held:
            assert b"qsync" in await stream.receive_some(4096)
        assert "limits.handshakes_per_address_max" in await dial(node, None)
        assert node.server.refused["handshakes_per_address"] == 1
        await held.pop().aclose()
        await until(lambda: len(node.server.strangers) == len(held), "it is gone")
        assert await dial(node, None) == "n1"
        for stream in held:
            await stream.aclose()


async def test_a_stranger_may_say_no_more_than_a_greeting_takes(tmp_path: Path) -> None:
    found = alone(tmp_path, alone=True)
    async with open_node(found) as node:
        host, port = node.address.split(":")
        async with await trio.open_tcp_stream(host, int(port)) as stream:
            await stream.receive_some(4096)
            await stream.send_all(LENGTH.pack(HANDSHAKE_BYTES_MAX + 1))
            assert await stream.receive_some(4096) == b"", "hung up before any of it came"
        assert HANDSHAKE_BYTES_MAX == 4096


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl here")
async def test_the_real_openssl_is_turned_away_from_1_2_and_without_a_certificate(
    tmp_path: Path, authority: Authority
) -> None:
    user = authority.user("ann")
    async with one(tmp_path, authority) as node:
        command = ["openssl", "s_client", "-connect", node.address, "-CAfile", str(authority.ca)]
        shown = ["-cert", str(user.certificate), "-key", str(user.key)]

        async def run(*more: str, typed: bytes = b"") -> bytes:
            found = await trio.run_process(
                [*command, *more],
                stdin=typed,
                capture_stdout=True,
                stderr=subprocess.STDOUT,
                check=False,
            )
            return bytes(found.stdout)

        old = await run(*shown, "-tls1_2")
        assert b"alert protocol version" in old
        before = node.server.refused.get("tls", 0)
        await run("-tls1_3", "-ign_eof")
        assert node.server.refused["tls"] > before

        renegotiated = await run(*shown, typed=b"R\n")
        assert re.search(rb"RENEGOTIATING\s(.*can_renegotiate.*|ERROR)", renegotiated)
        asked = await run(*shown, typed=b"K\n")  # a change of keys, asked of both sides
        assert b"KEYUPDATE" in asked
        assert b"error" not in asked
        assert await dial(node, authority.client(user)) == "n1", "and it serves on"


async def carry(come: trio.SocketStream, target: str, killed: trio.Event) -> None:
    """Carry bytes both ways until the node is killed: its kernel closes, and TLS says nothing."""
    host, port = target.rsplit(":", 1)
    gone = await trio.open_tcp_stream(host, int(port))
    async with come, gone, trio.open_nursery() as nursery:
        nursery.start_soon(_pump, come, gone)
        nursery.start_soon(_pump, gone, come)
        await killed.wait()
        nursery.cancel_scope.cancel()


async def _pump(source: trio.SocketStream, target: trio.SocketStream) -> None:
    with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
        async for data in source:
            await target.send_all(data)


@asynccontextmanager
async def killable(node: Node) -> AsyncIterator[tuple[str, trio.Event]]:
    """An address of the node, and what breaks all connections through it."""
    killed = trio.Event()
    async with trio.open_nursery() as nursery:
        serve = partial(trio.serve_tcp, partial(carry, target=str(node.address), killed=killed))
        (listener,) = await nursery.start(partial(serve, 0, host="127.0.0.1"))
        yield f"127.0.0.1:{listener.socket.getsockname()[1]}", killed
        nursery.cancel_scope.cancel()


async def test_what_cannot_be_sent_over_tls_any_more_breaks_the_stream(
    tmp_path: Path, authority: Authority
) -> None:
    tls = authority.client(authority.user("ann"))
    async with (
        one(tmp_path, authority) as node,
        killable(node) as (address, killed),
        await open_stream(address, tls, lambda *_: None) as stream,
    ):
        assert await stream.receive()
        killed.set()
        with pytest.raises(anyio.EndOfStream):
            await stream.receive()
        with pytest.raises(anyio.BrokenResourceError):
            await stream.send(b"too late")


# ---------------------------------------------------------------------------------- a cluster


async def test_every_certificate_changes_under_load_and_no_write_fails(tmp_path: Path) -> None:
    """Both authorities are trusted, then everybody shows the new one's, then the old one goes."""
    old = Authority(tmp_path / "old", cluster=CLUSTER)
    new = Authority(tmp_path / "new", cluster=CLUSTER)
    found = secured(tmp_path, old)
    trusted = tmp_path / "trusted.crt"
    trusted.write_bytes(old.ca.read_bytes())
    user = old.user("ann")
    tls = ClientTls(ca=str(trusted), certificate=str(user.certificate), key=str(user.key))
    addresses = [str(each.address) for each in found]
    async with running(found) as nodes:
        await until(lambda: len(leaders(nodes)) == 1, "somebody leads")
        assert all(link(nodes[a - 1], b) == "up" for a, b in ((1, 2), (2, 3), (3, 1)))
        async with (
            qsync.connect_async(addresses, timeout=20, tls=tls) as db,
            trio.open_nursery() as nursery,
        ):
            await db.schema.create_space("t", format=[("id", "unsigned")], is_sync=True)
            written: list[int] = []

            async def more() -> None:
                goal = len(written) + 5
                await until(lambda: len(written) >= goal, "writes go on")

            nursery.start_soon(_write_all, db, written)
            await more()
            both = old.ca.read_bytes() + new.ca.read_bytes()
            await _everybody_reads(nodes, lambda: _replace(old.ca, both))
            trusted.write_bytes(both)
            for node in nodes:
                _renew(node, old, new)
                await _dialled_anew(node)
                await more()
            _copy(new.user("ann"), user)
            _replace(trusted, new.ca.read_bytes())
            await _everybody_reads(nodes, lambda: _replace(old.ca, new.ca.read_bytes()))
            for node in nodes:
                await _dialled_anew(node)
            await more()
            async with qsync.connect_async(addresses, timeout=20, tls=tls) as again:
                assert await again.space("t").count() >= len(written) - 1
            nursery.cancel_scope.cancel()
        assert not any(node.timeline.counts["mishap"] for node in nodes)


async def _everybody_reads(nodes: list[Node], change: object) -> None:
    """A change of files is found by itself."""
    before = [node.timeline.counts["certificate_read"] for node in nodes]
    assert callable(change)
    change()
    await until(
        lambda: all(
            node.timeline.counts["certificate_read"] > count
            for node, count in zip(nodes, before, strict=True)
        ),
        "all have read it",
    )


async def _write_all(db: AsyncClient, written: list[int]) -> None:
    """One row after the other; what fails ends the test."""
    while True:
        await db.space("t").replace([len(written)])
        written.append(len(written))


def _renew(node: Node, old: Authority, new: Authority) -> None:
    """The node shows a certificate of the new authority, in the files of the old one."""
    name = node.config.node.name
    _copy(new.node(name), KeyPair.named(old.path, name))
    assert node.links.tls is not None
    assert "serial" in (node.links.tls.look() or {})


def _copy(pair: KeyPair, into: KeyPair) -> None:
    _replace(into.key, pair.key.read_bytes())
    _replace(into.certificate, pair.certificate.read_bytes())


async def _dialled_anew(node: Node) -> None:
    """Running connections have stayed; the next ones stand by what is read now."""
    for each in node.links.links.values():
        await until(partial(_stands, each, 0), "it stands")
        assert each.connection is not None
        epoch = each.epoch
        node.reactor.close(each.connection, "the test wants another")
        await until(partial(_stands, each, epoch), "it is dialled again")


def _stands(link: PeerLink, after: int) -> bool:
    return link.status is LinkStatus.UP and link.epoch > after


def _replace(path: Path, data: bytes) -> None:
    fresh = path.with_suffix(".fresh")
    fresh.write_bytes(data)
    fresh.replace(path)


async def test_another_member_s_certificate_is_no_member_s_own(tmp_path: Path) -> None:
    """Node 3 shows the certificate of node 2: neither dials nor is dialled as itself."""
    authority = Authority(tmp_path / "certs", cluster=CLUSTER)
    found = secured(tmp_path, authority)
    async with running(found[:2]) as nodes:
        await until(lambda: link(nodes[0], 2) == link(nodes[1], 1) == "up", "1 and 2 agree")
        hello = Hello(
            party=Party.PEER,
            cluster=CLUSTER,
            instance=nodes[1].identity.instance,
            replica=Replica(3),
            name="n2",
            nonce=bytes(NONCE_BYTES),
        )
        n2 = authority.client(authority.node("n2"))
        assert "FOREIGN_CLUSTER" in await dial(nodes[0], n2, hello=hello)


async def test_a_node_that_hangs_up_within_the_handshake_is_unavailable(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    (port,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    address = "{}:{}".format(*port.socket.getsockname()[:2])

    async def hang_up() -> None:
        for _ in range(2):
            stream = await port.accept()
            await stream.receive_some()
            await stream.aclose()

    async with port, trio.open_nursery() as nursery:
        nursery.start_soon(hang_up)
        for _ in range(2):
            with pytest.raises(Unavailable, match="hung up within the handshake"):
                await AsyncNodeConnection.open(address, tls=authority.client(None))
