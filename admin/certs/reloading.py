"""Makes every node of a cluster read its certificates again at once."""

from collections.abc import Sequence
from dataclasses import dataclass

from admin.cluster import ask, surveys
from qsync.errors import QsyncError
from qsync.wire import replies
from qsync.wire.verbs import PlainRequest, Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class ReloadedCertificate:
    """The certificate that a node uses from then on. `expires`: seconds since 1970.

    `error`: why it is not what is in the files, or why the node did not answer.
    """

    node: str
    serial: str = ""
    expires: float | None = None
    error: str | None = None


def reload_all(seeds: Sequence[str], *, timeout: float) -> list[ReloadedCertificate]:
    """Ask every member, one after the other. Raises Unavailable if none answers."""
    found = surveys.survey(seeds, timeout=timeout)
    asked = [_reloaded(each.name, each.address, timeout) for each in found.samples]
    return asked + [ReloadedCertificate(node=each.name, error=each.why) for each in found.silent]


def _reloaded(name: str, address: str, timeout: float) -> ReloadedCertificate:
    try:
        told = replies.read_map(ask.value(address, PlainRequest(1, Verb.RELOAD), timeout=timeout))
    except QsyncError as error:
        return ReloadedCertificate(node=name, error=str(error))
    expires, why = told.get("expires"), told.get("error")
    return ReloadedCertificate(
        node=name,
        serial=str(told.get("serial")),
        expires=float(expires) if isinstance(expires, int | float) else None,
        error=None if why is None else str(why),
    )
