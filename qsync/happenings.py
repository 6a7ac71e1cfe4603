"""The events of a node, by name: the severity and the message of each.

The timeline, the log on standard error and `box.events` call them by these names. The dashboard,
the status page and the reference have the sentences.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple


class Gravity(StrEnum):
    """The severity of an event, in the words of every log."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class HappeningKind(NamedTuple):
    """One kind of event. `sentences`: what the node does or did, with its fields in braces.

    Its name stands before it: `n1 follows n2 in term 7`. The first one counts whose fields are
    all there.
    """

    severity: Gravity
    sentences: tuple[str, ...]


def _debug(*sentences: str) -> HappeningKind:
    return HappeningKind(Gravity.DEBUG, sentences)


def _info(*sentences: str) -> HappeningKind:
    return HappeningKind(Gravity.INFO, sentences)


def _warning(*sentences: str) -> HappeningKind:
    return HappeningKind(Gravity.WARNING, sentences)


def _error(*sentences: str) -> HappeningKind:
    return HappeningKind(Gravity.ERROR, sentences)


HAPPENINGS: Final[dict[str, HappeningKind]] = {
    # -- the process
    "started": _info("started as process {pid}, in term {term}"),
    "stopped": _info("stopped in order"),
    "leaving": _info("hands over before it stops leading: {why}"),
    "options": _info("changed options while it runs: {given}"),
    "faults": _warning("will break on purpose: these fault points are armed: {armed}"),
    "faults_gone": _info("breaks nothing on purpose any more"),
    "mishap": _error("met a mistake of qsync itself, which cost one connection: {error}"),
    "stalled": _warning("stood still for {ms} ms: {cause}"),
    "no_local_socket": _warning("has no socket for the owner of its directory: {why}"),
    "own_name_unknown": _warning("waits to listen, since {name} is not known: {why}"),
    "own_address_missing": _warning(
        "does not listen on {address}, which {name} is as well ({option}): {why}"
    ),
    "refused": _warning(
        "refused a connection from {address}: {told}",
        "refused a connection from {address}: {error}",
        "refused a connection from {address}: {why}",
    ),
    "certificate_read": _info("uses new certificates, which are good until {expires}"),
    "certificate_refused": _warning("cannot use the new files of its certificates: {error}"),
    # -- elections
    "member": _info("votes from now on, as it has the whole log"),
    "member_changed": _info(
        "did not make the change {what} of member {replica}: {refused}",
        "made the change {what} of member {replica}",
    ),
    "anonymous_over": _info("forgot the anonymous replica {name}: its lease ended"),
    "admitted": _info("is counted by the leader {by} from now on"),
    "campaign": _info("asks for votes in term {term}"),
    "votes": _debug("votes for {candidate} in term {term}"),
    "follows": _info("follows {leader} in term {term}"),
    "elected": _info("won the election of term {term}"),
    "stepped_down": _warning("stepped down in term {term}: {why}"),
    "fenced": _warning("may not lead in term {term} any more: {why}"),
    "leader_gone": _warning("sees that the process of {leader}, leader of term {term}, is gone"),
    "leader_silent": _warning("has not heard {leader}, leader of term {term}, for too long"),
    "leader_resigned": _info("hears that {leader}, leader of term {term}, resigned"),
    "two_leaders": _error(
        "found two leaders of term {term}, nodes {first} and {second}, which can never be"
    ),
    "split_brain": _error("found a split brain: {what}"),
    # -- leadership that is handed over
    "promote": _info(
        "owns the limbo in term {term}, from entry {index} on",
        "stands for election after term {term}, as an operator asked",
    ),
    "promote_failed": _warning("was not elected when an operator asked: refused by {nays}"),
    "demote_failed": _warning("did not give up the limbo: transactions are pending ({pending})"),
    "prefers": _info("hands over to {to}, a preferred voter"),
    "handing_over": _info("waits until {to} has all of the log, to hand over"),
    "hands_over": _info("hands over to {to} in term {term}"),
    "hand_over_failed": _warning("did not hand over: {to} did not have the log in time"),
    "hand_over_refused": _warning(
        "did not get the leadership from {leader}, which it asked to hand over"
    ),
    "transfer_failed": _warning("did not hand over: {to} did not take over in time"),
    "superseded": _error("no longer participates: its cluster continues as {by}"),
    "superseded_by": _error(
        "serves no requests any more: its history continues in the cluster {cluster}"
    ),
    "old_copy": _error("found its directory to be an old copy, so it is a new instance: {why}"),
    "life_unwritten": _error("could not write down which directory is that of {of}: {why}"),
    "superseded_unwritten": _error("could not write down that it is superseded: {why}"),
    # -- the log
    "configuration": _info("counts these voters from now on: {voters}"),
    "rollback": _warning("rolled back transactions ({transactions}), from entry {first}: {why}"),
    "cut": _error("cut its log above entry {above} ({entries}), which was never confirmed: {why}"),
    "overruled": _error(
        "shows entries from {first} on again: a deposed leader had rolled them back in {rollback}"
    ),
    "trimmed": _debug("trimmed its log, which begins with entry {begins} now"),
    "trim_failed": _warning("could not trim its log: {why}"),
    "consumer_let_go": _warning(
        "keeps the log no longer for {name}, which lagged by {bytes} bytes"
    ),
    "consumers_unwritten": _warning("could not write down what consumers have read: {why}"),
    "audit_unwritten": _error(
        "could not write a line of its audit trail (further ones are only counted): {why}"
    ),
    "audit_cut": _error("found that the audit trail of {node} has {has} lines and had {had}"),
    # -- snapshots
    "snapshot": _info("wrote a snapshot up to entry {index}"),
    "snapshot_failed": _warning(
        "could not send a snapshot to {to}: {why}",
        "could not take the snapshot of {from}: {why}",
        "could not write a snapshot: {why}",
    ),
    "snapshot_kept": _warning("could not remove an old snapshot: {why}"),
    "snapshot_sent": _info("sent a snapshot up to entry {index} to {to}: {bytes} bytes"),
    "snapshot_installed": _info(
        "took a snapshot of the leader: its log begins behind entry {index}"
    ),
    "snapshot_damaged": _error("found the snapshot {file} damaged: {why}"),
    "snapshot_unreadable": _error(
        "cannot read the snapshot {file}: {why}", "cannot read its snapshots: {why}"
    ),
    # -- the disk
    "disk_failed": _error("cannot write or read its log: {why}"),
    "disk_works": _info("writes its log again, after {seconds} s"),
    "directory_gone": _error("does not find its directory where it was: {why}"),
    "fold_failed": _error("could not write confirmed rows to the spaces: {why}"),
    "close_failed": _warning("could not close its directory in order: {why}"),
    "spaces_lost": _error("found its rows damaged, and rebuilds them from the log: {why}"),
    "spaces_rebuilt": _info(
        "rebuilt its rows from {entries} entries of the log, in {seconds} s",
        "rebuilds its rows from the log: {why}",
    ),
    "spaces_installed": _info("took its rows from a snapshot up to entry {index}, in {seconds} s"),
    "spaces_differ": _error("has other rows than the leader in {spaces}, at entry {index}"),
    "events_stopped": _warning("no longer writes down for the checker what happens inside: {why}"),
}
"""Every event that a node tells of."""

_WHY: Final = {
    "quorum_lost": "too few voters answered",
    "paused": "the process was paused for too long",
    "higher_term": "another node was in a later term",
    "demote": "an operator asked for it",
    "superseded": "its cluster went on elsewhere",
    "mode_off": "its election mode was set to off",
    "mode_voter": "its election mode was set to voter",
    "synchro_timeout": "they were not confirmed in time",
    "operator": "an operator asked for it",
    "configuration": "the change of the members had no quorum",
}
"""Codes of reasons, as the log has them, in words."""


def severity_of(name: str) -> Gravity:
    """Return the severity of an event; unknown ones of other releases get the ordinary one."""
    found = HAPPENINGS.get(name)
    return Gravity.INFO if found is None else found.severity


def why_in_words(code: str) -> str:
    """Return a reason in words; what is no code is words already."""
    return _WHY.get(code, code)


def sentence(name: str, fields: Mapping[str, str]) -> str:
    """Return what happened, to stand after the name of the node. `fields`: as text.

    An event of another release, or one that says less there, is shown with its fields.
    """
    found = HAPPENINGS.get(name)
    words = {**fields, **({"why": why_in_words(fields["why"])} if "why" in fields else {})}
    for each in () if found is None else found.sentences:
        try:
            return each.format_map(words)
        except KeyError:
            continue  # the next one says less
    shown = " ".join(f"{key}={value}" for key, value in fields.items())
    return f"{name} {shown}".rstrip()
