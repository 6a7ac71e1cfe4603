"""Who hears of the calls of all clients of this process: nobody, unless `qsync.otel` is used."""

from qsync.client.pending_request import Observe

observe: Observe | None = None
"""Set by `qsync.otel.instrument`. While it is None, a call costs one look at it."""
