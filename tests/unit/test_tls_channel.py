"""Bytes over TLS, with sockets that take little and waits in none; and handshakes that fail."""

import random
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from qsync.errors import ConfigError
from qsync.tls import channel, files
from qsync.tls.channel import HandshakePace, TlsSocket
from qsync.tls.errors import TlsFailed
from qsync.tls.files import TlsFiles
from tests.certificates import AGO, AHEAD, CLUSTER, Authority


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    made = Authority(tmp_path_factory.mktemp("certs"))
    made.node("n1")
    made.user("ann")
    return made


@contextmanager
def plain() -> Iterator[tuple[socket.socket, socket.socket]]:
    near, far = socket.socketpair()
    with near, far:
        near.setblocking(False)
        far.setblocking(False)
        yield near, far


@contextmanager
def both(
    acceptor: TlsFiles, dialer: TlsFiles, *, demand: bool = True, host: str | None = None
) -> Iterator[tuple[TlsSocket, TlsSocket]]:
    """The side that was dialled and the side that dials, before a word of the first."""
    with plain() as (near, far):
        there = files.acceptor(acceptor, demand=demand)
        here = files.dialer(dialer, check_host=host is not None)
        yield TlsSocket(near, there, accepted=True), TlsSocket.dialled(far, here, host=host)


def heard(line: TlsSocket) -> bytes | None:
    """What has come; None for nothing yet."""
    try:
        return line.recv(1 << 18)
    except BlockingIOError:
        return None


def shake(near: TlsSocket, far: TlsSocket) -> None:
    for _ in range(3):
        heard(near)
        heard(far)


def pair(authority: Authority, name: str) -> TlsFiles:
    return TlsFiles(
        ca=authority.ca,
        certificate=authority.path / f"{name}.crt",
        key=authority.path / f"{name}.key",
    )


def test_both_sides_know_each_other_by_name(authority: Authority) -> None:
    with both(pair(authority, "n1"), pair(authority, "ann"), host="127.0.0.1") as (near, far):
        assert near.identity is far.identity is None
        shake(near, far)
        assert near.open
        assert far.open
        assert str(near.identity) == "user ann"
        assert far.identity is not None
        assert far.identity.uri == f"qsync://{CLUSTER}/node/n1"


def test_it_is_tls_1_3(authority: Authority) -> None:
    with both(pair(authority, "n1"), pair(authority, "ann")) as (near, far):
        shake(near, far)
        assert near._ssl.version() == far._ssl.version() == "TLSv1.3"


def test_secured_is_called_once_and_before_anything_is_heard(authority: Authority) -> None:
    with both(pair(authority, "n1"), pair(authority, "ann")) as (near, far):
        calls: list[str] = []
        near.secured = lambda line: calls.append(str(line.identity))
        heard(near)
        heard(far)
        far.send(b"early")  # it comes with the last bytes of the handshake
        assert heard(near) == b"early"
        far.send(b"more")
        assert heard(near) == b"more"
        assert calls == ["user ann"]


def test_nothing_is_sent_in_the_clear_before_the_handshake_is_over(authority: Authority) -> None:
    with (
        both(pair(authority, "n1"), pair(authority, "ann")) as (near, _),
        pytest.raises(BlockingIOError),
    ):
        near.send(b"hello")


@pytest.mark.parametrize("seed", range(3))
def test_all_bytes_arrive_in_order_through_a_socket_that_takes_little(
    authority: Authority, seed: int
) -> None:
    dice = random.Random(seed)
    with both(pair(authority, "n1"), pair(authority, "ann")) as (near, far):
        shake(near, far)
        near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        wanted, got = bytearray(), bytearray()
        # As a connection does: what was not taken is given again, with more behind it.
        out, fed = b"", 0
        while fed < 2_000_000 or out:
            if fed < 2_000_000:
                more = dice.randbytes(dice.choice([1, 100, 20_000, 300_000]))
                out, fed = out + more, fed + len(more)
                wanted += more
            try:
                out = out[near.send(out) :]
            except BlockingIOError:
                pass
            if dice.random() < 0.7 or fed >= 2_000_000:
                got += heard(far) or b""
        while (more_heard := heard(far)) is not None:
            got += more_heard
        assert got == wanted


def test_a_goodbye_is_the_end_of_the_stream(authority: Authority) -> None:
    with both(pair(authority, "n1"), pair(authority, "ann")) as (near, far):
        shake(near, far)
        far.send(b"last words")
        far.close()
        assert heard(near) == b"last words"
        assert heard(near) == b""


def test_an_end_without_a_goodbye_is_one_as_well(authority: Authority) -> None:
    with both(pair(authority, "n1"), pair(authority, "ann")) as (near, far):
        shake(near, far)
        far._plain.close()
        assert heard(near) == b""


# ---------------------------------------------------------------------------- what is refused


def refused(authority: Authority, near: TlsFiles, far: TlsFiles, **given: object) -> list[str]:
    """What the two sides raise: first who was dialled."""
    host = given.get("host")
    assert host is None or isinstance(host, str)
    found: list[str] = []
    with both(near, far, host=host) as lines:
        for line in (*lines, *lines):
            try:
                heard(line)
            except (TlsFailed, ConnectionError) as error:
                found.append(error.message if isinstance(error, TlsFailed) else "reset")
    return found


def test_an_authority_that_nobody_knows_is_refused_on_both_sides(
    authority: Authority, tmp_path: Path
) -> None:
    other = Authority(tmp_path)
    other.node("n1")
    theirs = pair(other, "n1")
    ours = pair(authority, "n1")
    mixed = TlsFiles(ca=authority.ca, certificate=theirs.certificate, key=theirs.key)
    unknown = "no authority that is trusted here signed the other side's certificate"
    assert refused(authority, ours, mixed)[0] == unknown
    assert unknown in refused(authority, theirs, ours)


@pytest.mark.parametrize(
    ("now", "why"),
    [(AGO, "certificate has expired"), (AHEAD, "certificate is not good yet")],
)
def test_a_certificate_out_of_its_time_is_refused(
    authority: Authority, now: object, why: str
) -> None:
    assert now is AGO or now is AHEAD
    late = authority.files(authority.user("late", now=AGO if now is AGO else AHEAD))
    assert refused(authority, pair(authority, "n1"), late)[0].endswith(why)


def test_who_shows_none_is_told_that_one_is_wanted(authority: Authority) -> None:
    found = refused(authority, pair(authority, "n1"), TlsFiles(ca=authority.ca))
    assert found == [
        "the other side shows no certificate",
        "the other side wants a certificate of ours (of a client: QSYNC_CERTIFICATE and QSYNC_KEY)",
    ]


def test_a_certificate_of_a_user_serves_nobody(authority: Authority) -> None:
    found = refused(authority, pair(authority, "ann"), pair(authority, "n1"))
    assert "the other side's certificate is not for its end" in found


def test_a_host_that_the_certificate_does_not_name_is_refused(authority: Authority) -> None:
    found = refused(authority, pair(authority, "n1"), pair(authority, "ann"), host="db.example")
    assert any("Hostname mismatch" in each for each in found)


def test_whoever_speaks_no_tls_is_refused_in_words(authority: Authority) -> None:
    for said, why in (
        (b"\0\0\0\5qsync-and-so-on", "the other side does not speak TLS"),
        (b"GET / HTTP/1.1\r\n\r\n", "the other side speaks HTTP"),
    ):
        with plain() as (near, far):
            context = files.acceptor(pair(authority, "n1"), demand=True)
            line = TlsSocket(near, context, accepted=True)
            far.send(said)
            with pytest.raises(TlsFailed, match=why):
                line.recv(4096)
            assert line.failed


def test_tls_1_2_is_refused(authority: Authority) -> None:
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname = False
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    old.load_verify_locations(authority.ca)
    with plain() as (near, far):
        context = files.acceptor(pair(authority, "n1"), demand=True)
        line = TlsSocket(near, context, accepted=True)
        TlsSocket.dialled(far, old)
        with pytest.raises(TlsFailed, match=r"does not speak TLS 1\.3"):
            line.recv(4096)


def test_a_handshake_without_end_is_given_up(authority: Authority) -> None:
    """Records that promise a message of 16 MiB, of which no more is kept than the limit."""
    with plain() as (near, far):
        context = files.acceptor(pair(authority, "n1"), demand=True)
        line = TlsSocket(near, context, accepted=True)
        hello = b"\x01" + (100_000).to_bytes(3, "big")
        piece = b"\x16\x03\x01" + (16_000).to_bytes(2, "big")
        data = piece + hello + bytes(16_000 - len(hello)) + 9 * (piece + bytes(16_000))
        far.send(data)
        why = None
        for _ in range(20):
            try:
                line.recv(1 << 18)
            except BlockingIOError:
                continue
            except TlsFailed as error:
                why = error.message
                break
        assert why is not None
        assert line._handshake.received <= 2 * channel.HANDSHAKE_BYTES_MAX


def test_handshakes_leave_half_of_the_time_to_others(authority: Authority) -> None:
    times = iter([10.0, 15.0, 16.0, 21.0, 22.0])  # a step takes from the first to the second
    context = files.acceptor(pair(authority, "n1"), demand=True)
    here = files.dialer(pair(authority, "ann"), check_host=False)
    pace = HandshakePace(lambda: next(times))
    with plain() as (near, far), plain() as (near_too, far_too):
        first = TlsSocket(near, context, accepted=True, pace=pace)
        second = TlsSocket(near_too, context, accepted=True, pace=pace)
        TlsSocket.dialled(far, here)
        TlsSocket.dialled(far_too, here)
        assert heard(first) is heard(second) is None
        assert first._handshake.received
        assert not second._handshake.received, "not its turn yet: nothing is read"
        assert heard(second) is None
        assert second._handshake.received


def test_there_is_no_second_handshake_on_a_connection(authority: Authority) -> None:
    """TLS 1.3 knows no renegotiation: who begins one, in the clear or not, is hung up on."""
    said = ssl.MemoryBIO()
    context = files.dialer(pair(authority, "ann"), check_host=False)
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), said).do_handshake()
    with both(pair(authority, "n1"), pair(authority, "ann")) as (near, far):
        shake(near, far)
        far._plain.send(said.read())
        with pytest.raises(TlsFailed):
            near.recv(4096)


def test_a_truncated_handshake_is_the_end_of_the_stream(authority: Authority) -> None:
    said = ssl.MemoryBIO()
    context = files.dialer(pair(authority, "ann"), check_host=False)
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), said).do_handshake()
    with plain() as (near, far):
        line = TlsSocket(near, files.acceptor(pair(authority, "n1"), demand=True), accepted=True)
        far.send(said.read()[:100])
        assert heard(line) is None
        far.close()
        assert heard(line) == b""
        assert not line.open


# ------------------------------------------------------------------------------------- files


def test_facts_of_our_own_certificate(authority: Authority) -> None:
    found = files.facts(pair(authority, "n1"))
    assert str(found.name) == "node n1"
    assert 89 * 86400 < found.expires - found.begins < 91 * 86400
    expired = authority.files(authority.node("n2", now=AGO))
    assert files.out_of_date(files.facts(expired), AGO.timestamp()) is None
    assert "has expired" in (files.out_of_date(files.facts(expired), AHEAD.timestamp()) or "")


def test_files_that_cannot_be_used_are_named(authority: Authority, tmp_path: Path) -> None:
    good, broken = pair(authority, "n1"), tmp_path / "broken.pem"
    broken.write_text("nothing of use")
    ann = authority.path / "ann.key"
    cases = [
        (TlsFiles(ca=broken, certificate=good.certificate, key=good.key), "holds no certificate"),
        (TlsFiles(ca=tmp_path / "none", certificate=good.certificate, key=good.key), "No such"),
        (TlsFiles(ca=good.ca, certificate=tmp_path / "none", key=good.key), "No such"),
        (TlsFiles(ca=good.ca, certificate=good.certificate, key=ann), "are no certificate and its"),
        (TlsFiles(ca=good.ca, certificate=broken, key=good.key), "are no certificate and its"),
        (TlsFiles(ca=good.ca, certificate=good.certificate), "no file of a key is named"),
    ]
    for wrong, why in cases:
        with pytest.raises(ConfigError, match=why):
            files.facts(wrong)
