"""`qsync promote`, `demote` and `clear-synchro-queue`: who leads, and what becomes of the limbo."""

import contextlib

import click

from admin.cluster import leadership, surveys
from admin.cluster.surveys import ClusterSurvey
from cli.options import (
    IN_NUMBERS,
    dry_run_option,
    json_option,
    target_option,
    timeout_option,
)
from cli.output import document, say, style
from cli.time_limit import TimeLimit
from cli.under_way import change_under_way
from qsync.client.one_node import TIMEOUT_S
from qsync.errors import NotLeader, Unavailable
from qsync.wire.verbs import ClearRequest, DemoteRequest, PromoteRequest

_TAKE_OVER_S = 3.0
"""A new leader is read-only for a moment, which is not reported as an outage."""

_SHOWN_BY = "status"
"""The command that shows who leads."""

wait_option = click.option(
    "--wait/--no-wait",
    default=True,
    show_default=True,
    help="Also wait until the cluster takes writes.",
)


@click.command(epilog="Example: qsync promote n2 --dry-run")
@click.argument("node")
@target_option
@dry_run_option(IN_NUMBERS)
@wait_option
@timeout_option("15s")
@json_option
def promote(*, node: str, target: list[str], dry_run: bool, wait: bool, timeout: float) -> None:
    """Make NODE the leader; returns when it takes writes.

    With a live leader this is a planned switchover that loses nothing and rolls nothing back.
    """
    limit = TimeLimit(timeout)
    found = surveys.survey(target, timeout=limit.to_look)
    address = surveys.node_address(found, node)
    if dry_run:
        _dry_run(found, node, "promote")
    else:
        left = limit.left
        with change_under_way(_SHOWN_BY):
            leadership.perform(address, PromoteRequest(1, left), timeout=left)
        _tell(node, target, limit, wait=wait)


@click.command(epilog="Example: qsync demote --to n3")
@click.argument("node", required=False)
@click.option("--to", "heir", metavar="NODE", help="The node that becomes the leader.")
@target_option
@dry_run_option(IN_NUMBERS)
@wait_option
@timeout_option("15s")
@json_option
def demote(
    *,
    node: str | None,
    heir: str | None,
    target: list[str],
    dry_run: bool,
    wait: bool,
    timeout: float,
) -> None:
    """Make the leader (or NODE, if it leads) step down, with an empty limbo.

    The successor is a candidate that is connected and was heard from recently, and it has the whole
    log before it takes over. If NODE does not lead, nothing is done, and that is no error.
    """
    limit = TimeLimit(timeout)
    found = surveys.survey(target, timeout=limit.to_look)
    name, address = _leader_or(found, node)
    to = 0 if heir is None else surveys.node_id(found, heir)
    if dry_run:
        _dry_run(found, name, "demote", heir=to)
    else:
        left = limit.left
        with change_under_way(_SHOWN_BY):
            leadership.perform(address, DemoteRequest(1, to, left), timeout=left)
        _tell(name, target, limit, wait=wait)


@click.command(name="clear-synchro-queue", epilog="Example: qsync clear-synchro-queue n1 --dry-run")
@click.argument("node", required=False)
@target_option
@dry_run_option(IN_NUMBERS)
@wait_option
@timeout_option("15s")
@json_option
def clear_synchro_queue(
    *,
    node: str | None,
    target: list[str],
    dry_run: bool,
    wait: bool,
    timeout: float,
) -> None:
    """Make NODE (or the leader) the owner of the limbo, and confirm what is pending.

    It waits and confirms; it never rolls anything back.
    """
    limit = TimeLimit(timeout)
    found = surveys.survey(target, timeout=limit.to_look)
    name, address = _leader_or(found, node)
    if dry_run:
        _dry_run(found, name, "clear_synchro_queue")
    else:
        left = limit.left
        with change_under_way(_SHOWN_BY):
            leadership.perform(address, ClearRequest(1, left), timeout=left)
        _tell(name, target, limit, wait=wait)


def _leader_or(found: ClusterSurvey, node: str | None) -> tuple[str, str]:
    if node is not None:
        return node, surveys.node_address(found, node)
    if found.leader is None:
        raise NotLeader("there is no leader, and no node was named")
    return found.leader.name, found.leader.address


def _dry_run(found: ClusterSurvey, name: str, what: str, *, heir: int = 0) -> None:
    address = surveys.node_address(found, name)
    would = leadership.would(address, what)
    if heir:
        would = leadership.toward(would, heir, found)
    if style().as_json:
        document("dry-run", verb=what, node=name, would=would)
    else:
        say(f"{what} {name}: {leadership.in_words(would, found)}")


def _tell(name: str, target: list[str], limit: TimeLimit, *, wait: bool) -> None:
    """Who leads after the change, when it takes writes or that has lasted too long."""
    if wait:
        with contextlib.suppress(Unavailable):  # Then the known part is shown.
            surveys.wait_writable(target, timeout=min(limit.to_show, _TAKE_OVER_S))
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
