"""Every client over TLS hears a greeting that its sender's certificate does not bear out."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import anyio
import pytest

import qsync
from election.messages import Replica
from qsync.client.one_node import NodeConnection
from qsync.client.one_node_aio import AsyncNodeConnection
from qsync.client.security import ClientTls
from qsync.errors import QsyncError
from qsync.tls import files
from qsync.wire.session import Acceptor, Greeting
from tests.certificates import CLUSTER, Authority

CONNECT_S = 0.2


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certs"))


@contextmanager
def greeted_as(
    authority: Authority, name: str, heard: list[bytes], *, host: str = "127.0.0.1"
) -> Iterator[str]:
    """An address where the certificate of n1 is shown, and a node of that name greets.

    `heard`: what each of those that dialled said to it.
    """
    context = files.acceptor(authority.files(authority.node("n1")), demand=False)
    greeting = Greeting(cluster=CLUSTER, instance="i", replica=Replica(1), name=name)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, 0), family=family)

    def serve() -> None:
        while True:
            try:
                line, _ = listener.accept()
            except OSError:
                return  # closed below
            with suppress(OSError), line, context.wrap_socket(line, server_side=True) as secured:
                secured.sendall(Acceptor(greeting).greet())
                heard.append(secured.recv(4096))

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def one_node(address: str, tls: ClientTls) -> None:
    NodeConnection(address, timeout=CONNECT_S * 5, tls=tls).close()


def one_node_aio(address: str, tls: ClientTls) -> None:
    async def ask() -> None:
        made = await AsyncNodeConnection.open(address, timeout=CONNECT_S * 5, tls=tls)
        await made.close()

    anyio.run(ask)


def cluster(address: str, tls: ClientTls) -> None:
    with qsync.connect(address, tls=tls, connect_timeout=CONNECT_S):
        pass


def cluster_aio(address: str, tls: ClientTls) -> None:
    async def ask() -> None:
        async with qsync.connect_async(address, tls=tls, connect_timeout=CONNECT_S):
            pass

    anyio.run(ask)


@pytest.mark.parametrize("client", [one_node, one_node_aio, cluster, cluster_aio])
def test_a_node_that_greets_as_another_than_its_certificate_is_left_alone(
    authority: Authority, client: Callable[[str, ClientTls], None]
) -> None:
    heard: list[bytes] = []
    tls = authority.client(None)
    with greeted_as(authority, "n2", heard) as address, pytest.raises(QsyncError) as caught:
        client(address, tls)
    assert "n2 shows the certificate of node n1" in f"{caught.value.message} {caught.value.details}"
    assert heard
    assert not any(heard), "it gets no hello"


def test_the_same_node_is_answered_when_it_greets_as_itself(authority: Authority) -> None:
    heard: list[bytes] = []
    with greeted_as(authority, "n1", heard) as address, pytest.raises(QsyncError):
        one_node(address, authority.client(None))
    assert all(heard), "a hello, to which this one says nothing"


@pytest.mark.parametrize("client", [one_node, one_node_aio])
def test_a_zone_behind_the_address_is_no_part_of_what_the_certificate_must_name(
    authority: Authority, client: Callable[[str, ClientTls], None]
) -> None:
    heard: list[bytes] = []
    loopback = f"::1%{socket.if_nametoindex('lo')}"
    tls = authority.client(None)
    with greeted_as(authority, "n1", heard, host=loopback) as address, pytest.raises(QsyncError):
        client(address, tls)
    assert all(heard), "a hello, to which this one says nothing"
    assert heard
