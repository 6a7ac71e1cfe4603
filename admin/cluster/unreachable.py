"""Members that did not answer: whether they are gone, or refuse us."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from qsync import features
from qsync.client import failed_dials, login, security
from qsync.errors import AccessDenied, ConfigError, QsyncError, Unavailable
from qsync.status.record import NodeStatus
from qsync.wire.session import NO_USERS, NO_USERS_FIX

LOG_IN: Final = (
    "show who you are: QSYNC_USER and QSYNC_PASSWORD, and QSYNC_CA where nodes speak TLS"
)
"""The fix if nodes refuse to answer us because they do not know who asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreachableNode:
    """A node that did not answer, and the error. `id` 0: only its address is known.

    `denied`: it runs, or may run, and refuses us.
    """

    id: int
    name: str
    address: str
    why: str
    denied: bool = False

    @property
    def fix(self) -> str:
        """What to do if it refuses us."""
        return NO_USERS_FIX if NO_USERS in self.why else LOG_IN


def closed_to_us(heard: Sequence[NodeStatus]) -> str | None:
    """Why the other members need not be asked; None if they may answer.

    A user who connects by a node's own socket may have no credentials for the others.
    """
    try:
        shown, user = security.of_environment(), login.of_environment()
    except ConfigError as error:
        return str(error)
    if any(each.tls.on for each in heard) and shown is None:
        return "it speaks TLS, and no authority is named here (QSYNC_CA)"
    if user is not None or (shown is not None and shown.certificate is not None):
        return None
    if any(features.USERS in each.upgrade.features for each in heard):
        return "its cluster has users, and none is named here (QSYNC_USER)"
    return None


def unreachable(
    id: int, name: str, address: str, *, answer: NodeStatus | QsyncError | None, closed: str | None
) -> UnreachableNode:
    """A member that is not among those that answered, and why."""
    why = str(answer or closed or "not asked")
    if isinstance(answer, NodeStatus):
        why = f"a node of cluster {answer.replicaset.uuid} answers there"
    denied = isinstance(answer, AccessDenied) or (answer is None and closed is not None)
    return UnreachableNode(id=id, name=name, address=address, why=why, denied=denied)


def nobody_answers(silent: Sequence[UnreachableNode]) -> QsyncError:
    """The error if no node answers: AccessDenied if one of them refuses us."""
    met = {each.address: each.why for each in silent}
    details: dict[str, object] = {"nodes": met}
    denied = next((each for each in silent if each.denied), None)
    if denied is None:
        return Unavailable("no node answers", hint=failed_dials.hint(met), details=details)
    why = denied.why.removeprefix(f"{AccessDenied.code}: ")  # this error says it already
    why = why.removesuffix(f" ({denied.fix})")  # and the hint
    return AccessDenied(f"no node lets us ask: {why}", hint=denied.fix, details=details)


def unasked(answers: Mapping[str, NodeStatus | QsyncError]) -> QsyncError:
    """The error if none of these addresses answers: what we lack to ask at all, if it is that."""
    lacking = next((each for each in answers.values() if isinstance(each, ConfigError)), None)
    return lacking or nobody_answers(
        [
            unreachable(0, "", address, answer=answer, closed=None)
            for address, answer in answers.items()
        ]
    )


def hearsay(heard: Sequence[NodeStatus], silent: Sequence[UnreachableNode]) -> str | None:
    """The known state of a leader that refuses the connection; None without one."""
    leaders = {each.name for each in silent if each.denied}
    for each in heard:
        if each.leader_name in leaders:
            return (
                f"{each.name} follows {each.leader_name} in term {each.term}; whether it commits "
                f"is not to be seen from here, {each.leader_name} does not let us ask"
            )
    return None
