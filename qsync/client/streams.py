"""The streams of asynchronous clients: connected, and over TLS where that is wanted."""

from collections.abc import Callable

import anyio
import anyio.abc

from qsync.client import local_sockets, targets
from qsync.client.security import ClientTls
from qsync.socket_files import named
from qsync.tls.names import CertifiedName


async def open_stream(
    address: str, tls: ClientTls | None, certify: Callable[[CertifiedName, bytes], None]
) -> anyio.abc.ByteStream:
    """Open a stream to the node at that address.

    `certify`: called with whom the certificate there names, and what names the channel, where TLS
    is spoken. Raises OSError, TlsFailed, and ConfigError for an address or files that cannot be
    used.
    """
    path = local_sockets.path_of(address)
    if path is not None:
        local_sockets.check(path)
        with named(path) as name:
            return await anyio.connect_unix(name)
    host, port = targets.split(address)
    plain = await anyio.connect_tcp(host, port)
    if tls is None:
        return plain
    from qsync.client import secured  # noqa: PLC0415 - only where TLS is spoken

    try:
        return await secured.dialled_stream(plain, tls, address, certify)
    except BaseException:
        await anyio.aclose_forcefully(plain)
        raise
