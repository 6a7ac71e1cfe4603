"""A client's sockets and streams over TLS; imported where TLS is spoken, and nowhere else."""

import ssl
from functools import lru_cache
from pathlib import Path
from typing import Final

import anyio
import anyio.abc
from anyio.streams.tls import TLSAttribute, TLSStream
from typing_extensions import override

from qsync import ipv6
from qsync.client import targets
from qsync.client.security import ClientTls
from qsync.tls import binding, files, names
from qsync.tls.channel import TlsSocket
from qsync.tls.errors import TlsFailed
from qsync.tls.files import State, TlsFiles, said_by_tls
from qsync.tls.names import Bearer, CertifiedName, Certify
from qsync.tls.plain import StreamSocket

_CONTEXTS_MAX: Final = 16


class DialledTlsStream(TLSStream):
    """TLS as an asynchronous client speaks it: sending fails as on a plain stream.

    Its reader may have found the end in this very moment. To send is a BrokenResourceError then,
    and would be an EndOfStream or an SSLError.
    """

    @override
    async def send(self, item: bytes) -> None:
        """Raises BrokenResourceError."""
        try:
            await super().send(item)
        except (anyio.EndOfStream, ssl.SSLError) as error:
            raise anyio.BrokenResourceError from error


def dialled(plain: StreamSocket, tls: ClientTls, address: str, certify: Certify) -> TlsSocket:
    """TLS over a socket that stands, which greets us when its certificate was found good.

    `certify`: called before a byte of the greeting is given out. Raises TlsFailed, OSError, and
    ConfigError for files that cannot be used.
    """
    made = TlsSocket.dialled(plain, _context(tls), host=_host(tls, address))
    made.secured = lambda found: certify(_node(found.identity), found.binding)
    return made


async def dialled_stream(
    plain: anyio.abc.SocketStream, tls: ClientTls, address: str, certify: Certify
) -> anyio.abc.ByteStream:
    """Set up TLS over a stream, with the handshake done. Raises as `dialled` does.

    An end of the stream within the handshake is a ConnectionResetError.
    """
    try:
        made = await DialledTlsStream.wrap(
            plain,
            server_side=False,
            hostname=_host(tls, address),
            ssl_context=_context(tls),
            standard_compatible=False,
        )
    except (ssl.SSLError, anyio.BrokenResourceError, anyio.EndOfStream) as error:
        said = said_by_tls(error)
        if said is error:
            said = ConnectionResetError("the other side hung up within the handshake of TLS")
        raise said from None
    channel = made.extra(TLSAttribute.ssl_object)  # noqa: S610 - no Django
    certify(_node(names.named_in(channel.getpeercert() or {})), binding.of(channel))
    return made


def _host(tls: ClientTls, address: str) -> str | None:
    return ipv6.without_zone(targets.split(address)[0]) if tls.check_host else None


def _node(name: CertifiedName | None) -> CertifiedName:
    """Return the node of a certificate; those of users and web sites do not count."""
    if name is None or name.bearer is not Bearer.NODE:
        raise TlsFailed(f"the certificate there is of {name or 'nobody in a cluster'}, of no node")
    return name


def check(tls: ClientTls) -> None:
    """Raise ConfigError naming the file if its files cannot be used. Nobody is dialled."""
    _context(tls)


def _context(tls: ClientTls) -> ssl.SSLContext:
    found = TlsFiles(
        ca=Path(tls.ca),
        certificate=None if tls.certificate is None else Path(tls.certificate),
        key=None if tls.key is None else Path(tls.key),
    )
    return _made(found, found.state(), check_host=tls.check_host)


@lru_cache(_CONTEXTS_MAX)
def _made(found: TlsFiles, _state: State, *, check_host: bool) -> ssl.SSLContext:
    """Return the context for files as they are: after a change the next dial has a new one."""
    return files.dialer(found, check_host=check_host)
