"""Our own files of TLS, which are to be found wrong before a node is dialled."""

from qsync.client import local_sockets
from qsync.client.targets import SeedAddresses


def check(found: SeedAddresses) -> None:
    """Check that they can be used, if an address is dialled over TLS. Raises ConfigError."""
    if found.tls is None or all(map(local_sockets.path_of, found.addresses)):
        return
    from qsync.client import secured  # noqa: PLC0415 - only where TLS is spoken

    secured.check(found.tls)
