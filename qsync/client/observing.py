"""The observer of all calls of this process: none, unless `qsync.otel` sets one."""

from qsync.client.pending_request import Observe

observe: Observe | None = None
"""Set by `qsync.otel.instrument`. While it is None, a call costs one look at it."""
