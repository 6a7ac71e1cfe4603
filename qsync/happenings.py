"""What happens on a node, by name: how grave each is, and what it means.

The timeline, the log on standard error, `qsync top` and `box.events` call them by these names.
"""

from enum import StrEnum
from typing import Final, NamedTuple


class Gravity(StrEnum):
    """The severity of an event, in the words of every log."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class HappeningKind(NamedTuple):
    """One kind of event."""

    severity: Gravity
    about: str


def _debug(about: str) -> HappeningKind:
    return HappeningKind(Gravity.DEBUG, about)


def _info(about: str) -> HappeningKind:
    return HappeningKind(Gravity.INFO, about)


def _warning(about: str) -> HappeningKind:
    return HappeningKind(Gravity.WARNING, about)


def _error(about: str) -> HappeningKind:
    return HappeningKind(Gravity.ERROR, about)


HAPPENINGS: Final[dict[str, HappeningKind]] = {
    # -- the process
    "started": _info("the node has its directory and begins to take part"),
    "stopped": _info("the node has ended in order"),
    "leaving": _info("a leader that stops or cannot write hands over first"),
    "options": _info("options were changed while it runs"),
    "faults": _warning("fault points were armed or disarmed: something will break on purpose"),
    "mishap": _error("a mistake of qsync itself cost one connection; the traceback is with it"),
    "stalled": _warning("everything stood still for a second or longer, and the cause"),
    "no_local_socket": _warning("there is no socket for the owner of the node, and why"),
    "refused": _warning("a connection was refused, and why"),
    "certificate_read": _info("files of certificates changed, and the new ones are in use"),
    "certificate_refused": _warning("files of certificates changed and cannot be used"),
    # -- elections
    "member": _info("it votes from now on"),
    "member_changed": _info("a change of the members was made, or refused"),
    "anonymous_over": _info("the lease of an anonymous replica has ended: it is forgotten"),
    "admitted": _info("a leader says that it counts from now on"),
    "campaign": _info("it asks for votes"),
    "pre_vote": _debug("it asks whether it would get votes"),
    "votes": _debug("it votes for a candidate"),
    "follows": _info("it follows a leader"),
    "elected": _info("it leads a new term"),
    "stepped_down": _warning("it leads no longer, and why"),
    "fenced": _warning("it hears too few voters to lead, so it steps down"),
    "leader_gone": _warning("the leader's process is gone"),
    "leader_silent": _warning("the leader was not heard for too long"),
    "leader_resigned": _info("the leader gave up of its own accord"),
    "two_leaders": _error("two nodes say that they lead one term, which can never be"),
    "split_brain": _error("another node decided otherwise on the same transactions"),
    # -- leadership that is handed over
    "promote": _info("it becomes the owner of the limbo"),
    "promote_failed": _warning("it did not become the owner of the limbo"),
    "demote_failed": _warning("the owner of the limbo could not give it up"),
    "prefers": _info("it hands over to a voter that is preferred"),
    "handing_over": _info("it waits until the next leader has all of the log"),
    "hands_over": _info("it tells the next leader to campaign"),
    "hand_over_failed": _warning("the next leader did not have the log in time"),
    "hand_over_refused": _warning("the leader did not hand over when it was asked to"),
    "transfer_failed": _warning("the next leader did not take over in time"),
    "superseded": _error("it takes no part any more"),
    "superseded_by": _error("its history goes on in another cluster: it serves nothing any more"),
    "old_copy": _error(
        "its directory is an old copy, as another member has proved: a new instance"
    ),
    "life_unwritten": _error("in which life a directory is could not be written down, and why"),
    "superseded_unwritten": _error("that it is superseded could not be written down, and why"),
    # -- the log
    "configuration": _info("other voters count from now on"),
    "rollback": _warning("transactions of the limbo are rolled back, and why"),
    "cut": _error("entries that were never confirmed left the log"),
    "overruled": _error("a rollback by a deposed leader does not hold"),
    "trimmed": _debug("the log begins later: what is folded and in a snapshot left it"),
    "trim_failed": _warning("the log could not be made shorter"),
    "consumer_let_go": _warning("the log is no longer kept for a consumer"),
    "consumers_unwritten": _warning("what consumers have read could not be written down"),
    "audit_unwritten": _error("the audit trail lacks a line; that it lacks more is only counted"),
    "audit_cut": _error("another node's audit trail has lost lines that were there"),
    # -- snapshots
    "snapshot": _info("a snapshot was written"),
    "snapshot_failed": _warning("a snapshot was not written, sent or received, and why"),
    "snapshot_sent": _info("another node has a snapshot of this one"),
    "snapshot_installed": _info("the log begins at a snapshot of the leader"),
    "snapshot_damaged": _error("a snapshot does not hold what was written"),
    "snapshot_unreadable": _error("a snapshot cannot be read"),
    # -- the disk
    "disk_failed": _error("the log can not be written or read"),
    "directory_gone": _error("the log is not where it was any more"),
    "fold_failed": _error("confirmed rows could not be written to the spaces"),
    "close_failed": _warning("the directory could not be closed in order"),
    "spaces_lost": _error("the rows on disk are damaged; they are made anew"),
    "spaces_rebuilt": _info("the rows were made anew from the log"),
    "spaces_installed": _info("the rows were taken from a snapshot of the leader"),
    "spaces_differ": _error("rows here are not the leader's"),
    "events_stopped": _warning("what happens inside is no longer written down for the checker"),
}
"""Every event that a node tells of."""


def severity_of(name: str) -> Gravity:
    """Return the severity of an event; unknown ones of other releases get the ordinary one."""
    found = HAPPENINGS.get(name)
    return Gravity.INFO if found is None else found.severity
