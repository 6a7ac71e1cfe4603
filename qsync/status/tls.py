"""What a node shows over TLS, and for how long it is good."""

from typing import Annotated

from msgspec import Struct


class TlsStatus(Struct, frozen=True, kw_only=True):
    """The node's certificate, as it was last read. Times are its own wall clock's."""

    on: Annotated[bool, "whether everything is said over TLS"] = False
    serial: Annotated[str, "number of its certificate"] = ""
    expires: Annotated[float | None, "when it is good no more, in seconds since 1970"] = None
    left: Annotated[float | None, "seconds until then; negative: it has expired"] = None
    ca_left: Annotated[float | None, "the same of the authority that expires first"] = None
    authorities: Annotated[
        tuple[str, ...], "numbers of the certificates of the authorities it trusts"
    ] = ()
    error: Annotated[str | None, "why files that changed are not in use"] = None
