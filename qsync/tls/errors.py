"""What goes wrong below the protocol."""

from qsync.errors import ProtocolError


class TlsFailed(ProtocolError):
    """TLS with the other side fails: version, certificate, name, or it speaks none. Said in words.

    Nothing of the protocol was said over that connection.
    """

    code = "TLS"
    number = 44
    hint = "`qsync cert check` judges certificates; a target of `qsyncs://` is spoken to over TLS"
