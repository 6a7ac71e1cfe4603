"""What names one TLS connection: the same at both of its ends, and on no other connection.

It is the Finished message of the side that dialled: a code over the whole handshake, with the
random numbers and key shares of both sides and the certificate of the node in it. Whoever ends one
connection and begins another in between has a different one on each. It is what RFC 5929 calls
`tls-unique`; what was wrong with that (resumed sessions, renegotiation) is not in TLS 1.3 with a
side that gives out no tickets. The exporter of RFC 9266 is not in the standard library.
"""

import ssl

from qsync.tls.errors import TlsFailed


def of(channel: ssl.SSLObject) -> bytes:
    """Of a connection whose handshake is over. Raises TlsFailed."""
    found = channel.get_channel_binding("tls-unique")
    if not found:
        raise TlsFailed("the connection has nothing that a login could be bound to")
    return found
