"""`qsync promote`, `demote` and `clear-synchro-queue`: who leads, and what becomes of the limbo."""

import contextlib
from typing import Unpack

import click

from admin.cluster import leadership, settling, surveys
from admin.cluster.leadership import ClusterVerb
from admin.cluster.surveys import ClusterSurvey
from cli.options import ChangeOptions, change_options
from cli.output import document, foreseen, say, style
from cli.time_limit import TimeLimit
from cli.under_way import change_under_way
from qsync.client.one_node import TIMEOUT_S
from qsync.errors import NotLeader, Unavailable

_TAKE_OVER_S = 3.0
"""A new leader is read-only for a moment, which is not reported as an outage."""

_SHOWN_BY = "status"
"""The command that shows who leads."""


class _LeadOptions(ChangeOptions):
    """What `_changes` gives a command."""

    wait: bool


_changes = change_options(
    "15s",
    click.option(
        "--wait/--no-wait",
        default=True,
        show_default=True,
        help="Also wait until the cluster takes writes.",
    ),
)


@click.command(epilog="Example: qsync promote n2 --dry-run")
@click.argument("node")
@_changes
def promote(*, node: str, **given: Unpack[_LeadOptions]) -> None:
    """Make NODE the leader; returns when it takes writes.

    With a live leader this is a planned switchover that loses nothing and rolls nothing back.
    """
    _change(ClusterVerb.PROMOTE, node, **given)


@click.command(epilog="Example: qsync demote --to n3")
@click.argument("node", required=False)
@click.option("--to", "heir", metavar="NODE", help="The node that becomes the leader.")
@_changes
def demote(*, node: str | None, heir: str | None, **given: Unpack[_LeadOptions]) -> None:
    """Make the leader (or NODE, if it leads) step down, with an empty limbo.

    The successor is a candidate that is connected and was heard from recently, and it has the whole
    log before it takes over. If NODE does not lead, nothing is done, and that is no error.
    """
    _change(ClusterVerb.DEMOTE, node, heir, **given)


@click.command(name="clear-synchro-queue", epilog="Example: qsync clear-synchro-queue n1 --dry-run")
@click.argument("node", required=False)
@_changes
def clear_synchro_queue(*, node: str | None, **given: Unpack[_LeadOptions]) -> None:
    """Make NODE (or the leader) the owner of the limbo, and confirm what is pending.

    It waits and confirms; it never rolls anything back.
    """
    _change(ClusterVerb.CLEAR, node, **given)


def _change(
    verb: ClusterVerb,
    node: str | None,
    heir: str | None = None,
    *,
    target: list[str],
    dry_run: bool,
    wait: bool,
    timeout: float,
) -> None:
    """Perform the change at that node, or at the leader, and tell who leads then."""
    limit = TimeLimit(timeout)
    found = surveys.survey(target, timeout=limit.to_look)
    name, address = _leader_or(found, node)
    to = 0 if heir is None else surveys.node_id(found, heir)
    if dry_run:
        would = leadership.would(address, verb)
        if to:
            would = leadership.toward(would, to, found)
        foreseen(verb, name, would, leadership.in_words(would, found))
        return
    left = limit.left
    with change_under_way(_SHOWN_BY):
        leadership.perform(address, verb, heir=to, timeout=left)
    _tell(name, target, limit, wait=wait)


def _leader_or(found: ClusterSurvey, node: str | None) -> tuple[str, str]:
    if node is not None:
        return node, surveys.node_address(found, node)
    if found.leader is None:
        raise NotLeader("there is no leader, and no node was named")
    return found.leader.name, found.leader.address


def _tell(name: str, target: list[str], limit: TimeLimit, *, wait: bool) -> None:
    """Print who leads after the change; `wait`: once the cluster takes writes, or seconds later."""
    if wait:
        with contextlib.suppress(Unavailable):  # Then the known part is shown.
            settling.wait_writable(target, timeout=min(limit.to_show, _TAKE_OVER_S))
    verdict = surveys.judge(surveys.survey(target, timeout=min(limit.to_show, TIMEOUT_S)))
    if style().as_json:
        document(
            "leadership",
            node=name,
            leader=verdict.leader,
            term=verdict.term,
            can_commit=verdict.can_commit,
        )
    else:
        say(verdict.sentence)
