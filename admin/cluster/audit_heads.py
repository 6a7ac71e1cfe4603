"""Reads the heads of audit trails that the answering nodes recorded of each other."""

from collections.abc import Iterator, Mapping, Sequence

from admin.cluster import ask, surveys
from qsync.audit import AuditHead, parse_head
from qsync.errors import ProtocolError, QsyncError
from qsync.wire import replies
from qsync.wire.verbs import InfoRequest

AUDIT = "audit"
"""The part of INFO that contains the heads."""


def known(seeds: Sequence[str], instance: str) -> list[AuditHead]:
    """Return the known heads of that instance's trail, including that of its own node.

    Raises Unavailable when no node answers, ProtocolError for an invalid head.
    """
    found: list[AuditHead] = []
    for node in surveys.survey(seeds).samples:
        try:
            said = replies.read_map(ask.value(node.address, InfoRequest(1, AUDIT)))
        except QsyncError:
            continue  # an older release, or stopped since
        found += _heads(said, instance)
    return found


def _heads(said: Mapping[str, object], instance: str) -> Iterator[AuditHead]:
    others = said.get("others")
    for each in [said, *(others if isinstance(others, list) else ())]:
        if not isinstance(each, dict) or each.get("instance") != instance:
            continue
        text = str(each.get("head"))
        if text.startswith("0:"):
            continue  # it has written nothing yet
        try:
            yield parse_head(text)
        except ValueError as error:
            raise ProtocolError(f"what a node keeps of an audit trail: {error}") from None
