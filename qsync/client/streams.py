"""The streams of asynchronous clients: connected, and over TLS where that is wanted."""

from collections.abc import Callable

import anyio
import anyio.abc

from qsync.client import targets
from qsync.client.security import ClientTls
from qsync.tls.names import CertifiedName


async def open_stream(
    address: str, tls: ClientTls | None, certify: Callable[[CertifiedName], None]
) -> anyio.abc.ByteStream:
    """A stream to the node at that address.

    `certify`: called with whom the certificate there names, where TLS is spoken. Raises OSError,
    TlsFailed, and ConfigError for an address or files that cannot be used.
    """
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
