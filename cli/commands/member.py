"""`qsync member`: who belongs to the cluster, who of them votes, and every change of that."""

from typing import Unpack

import click

from admin.cluster import membership, membership_plan, settling, surveys
from admin.cluster.membership import ClusterMember, WantedChange
from admin.cluster.surveys import ClusterSurvey
from cli.commands import consumers
from cli.examples import examples
from cli.exits import CheckFailed
from cli.options import (
    ChangeOptions,
    change_options,
    json_option,
    target_argument,
    timeout_option,
)
from cli.output import document, foreseen, say, style, text
from cli.time_limit import TimeLimit
from cli.under_way import change_under_way
from qsync.errors import Outcome, Unavailable
from qsync.member import MemberAction, MemberRole, Standing

_changes = change_options("30s")
_SETTLES_S = 10.0
"""How long the cluster may take to be writable after a change, such as by a new leader."""
_SHOWN = 8
"""Characters of an instance; enough to tell two apart."""
_SHOWN_BY = "member list"


@click.group(
    epilog=examples(
        "qsync member list",
        "# prepare a node on its host, start it, and make it a member",
        "qsync init n4 --join 10.0.0.1:3301 --listen 10.0.0.4:3301 --secure",
        "qsync start n4",
        "qsync member add 10.0.0.4:3301 --dry-run",
    )
)
def member() -> None:
    """List and change the members of a cluster and their roles."""


member.add_command(consumers.gc)


_force = click.option(
    "--force", is_flag=True, help="Proceed even if the cluster may lose its quorum for a while."
)


@member.command("list", epilog="Example: qsync member list --json")
@target_argument
@timeout_option("2s")
@json_option
def list_(*, target: list[str], timeout: float) -> None:
    """List the members with their roles and directories.

    A member is a pair of id and directory. A node that runs on another directory is listed as a
    stranger: it receives the log, and neither votes nor counts until it is added.
    """
    rows = membership.members(surveys.survey(target, timeout=timeout))
    if style().as_json:
        document("members", members=[each.as_members() for each in rows])
        return
    for each in rows:
        leads = ", leads" if each.leads else ""
        where = f"{each.id:>2} {each.name:<10} {each.address:<21}"
        text(f"{where} {each.version or '-':<8} {each.standing}{leads}{_pair(each)}")


@member.command(epilog="Example: qsync member add 10.0.0.4:3301")
@click.argument("address")
@click.option(
    "--learner", is_flag=True, help="Keep it a learner: it receives the log and does not vote."
)
@_force
@_changes
def add(*, address: str, learner: bool, force: bool, **given: Unpack[ChangeOptions]) -> None:
    """Add the node at ADDRESS to the cluster; it becomes a voter when it has caught up.

    Until then it is a learner. `qsync init DIR --join TARGET` prepares such a node, and `qsync
    start DIR` runs it.
    """
    change = _MemberChange(**given)
    one = membership.newcomer(change.found, address, timeout=change.limit.left, progress=say)
    role = MemberRole.LEARNER if learner else MemberRole.VOTER
    wanted = WantedChange(action=MemberAction.ADD, one=one, role=role, force=force)
    change.perform(wanted, f"{one.name} is a {role}")


@member.command(epilog="Example: qsync member remove n4 --dry-run")
@click.argument("node")
@_force
@_changes
def remove(*, node: str, force: bool, **given: Unpack[ChangeOptions]) -> None:
    """Remove NODE from the cluster; its directory is kept.

    A leader hands over when its own removal is committed. The node then counts as a stranger.
    """
    change = _MemberChange(**given)
    one = change.member(node)
    wanted = WantedChange(action=MemberAction.REMOVE, one=one, force=force)
    change.perform(wanted, f"{one.name} is removed")


@member.command("set-role", epilog="Example: qsync member set-role n4 voter")
@click.argument("node")
@click.argument("role", type=click.Choice([MemberRole.VOTER.value, MemberRole.LEARNER.value]))
@_force
@_changes
def set_role(*, node: str, role: str, force: bool, **given: Unpack[ChangeOptions]) -> None:
    """Change the role of NODE: voter (as soon as it has the log) or learner."""
    change = _MemberChange(**given)
    one = change.member(node)
    wanted = WantedChange(action=MemberAction.SET_ROLE, one=one, role=MemberRole(role), force=force)
    change.perform(wanted, f"{one.name} is a {role}")


@member.command(epilog="Example: qsync member move n3 10.0.0.9:3301")
@click.argument("node")
@click.argument("address")
@click.option(
    "--force", is_flag=True, help="Proceed even if NODE does not answer at ADDRESS from here."
)
@_changes
def move(*, node: str, address: str, force: bool, **given: Unpack[ChangeOptions]) -> None:
    """Change the address at which peers and clients dial NODE.

    Start it there first: nothing is changed unless it answers.
    """
    from qsync.config import Address  # noqa: PLC0415 - loads YAML, which the other verbs do not

    try:
        where = str(Address.parse(address))
    except ValueError as error:
        raise click.BadParameter(f"{address!r} {error}", param_hint="ADDRESS") from None
    change = _MemberChange(**given)
    found, one = change.found, change.member(node)
    membership.check_free(found, one, where)
    if not (force or given["dry_run"]):
        membership.check_moved(found, one, where, timeout=change.limit.left, progress=say)
    wanted = WantedChange(action=MemberAction.MOVE, one=one, address=where)
    change.perform(wanted, f"{one.name} is dialled at {where}")


@member.command(epilog="Example: qsync member replace n3 --dry-run")
@click.argument("node")
@_changes
def replace(*, node: str, **given: Unpack[ChangeOptions]) -> None:
    """Replace the lost directory of NODE by the one that it runs on now.

    For a lost disk: start the node on a new directory, then run this. The old pair of id and
    directory is removed and the new one added; returns when both changes are committed.
    """
    change = _MemberChange(**given)
    one = change.member(node)
    change.perform(WantedChange(action=MemberAction.REPLACE, one=one), f"{one.name} is named")


class _MemberChange:
    """A command that looks at the cluster, and then tells what it would change, or changes it."""

    def __init__(self, *, target: list[str], dry_run: bool, timeout: float) -> None:
        self.limit = TimeLimit(timeout)
        self.found = surveys.survey(target, timeout=self.limit.to_look)
        self._target = target
        self._dry_run = dry_run

    def member(self, node: str) -> ClusterMember:
        """The member of that name, id or address. Raises ConfigError."""
        id = surveys.node_id(self.found, node)
        return next(each for each in membership.members(self.found) if each.id == id)

    def perform(self, wanted: WantedChange, done: str) -> None:
        """Make the change, and say that it is `done`; with --dry-run only say what it would do."""
        if self._dry_run:
            would = membership_plan.would(self.found, wanted)
            words = membership_plan.in_words(would)
            foreseen(wanted.action.value, wanted.one.name, would, words)
            return
        left = self.limit.left
        with change_under_way(_SHOWN_BY):
            membership.perform(self.found, wanted, timeout=left, progress=say)
        _tell_done(self._target, done)


def _tell_done(target: list[str], what: str) -> None:
    after = settled(target, what)
    rows = membership.members(after)
    if style().as_json:
        document("members", did=what, members=[each.as_members() for each in rows])
        return
    voters = ", ".join(each.name for each in rows if each.role == MemberRole.VOTER)
    say(f"{what}; the voters are {voters}")
    say(surveys.judge(after).sentence)


def settled(target: list[str], what: str, *, timeout: float = _SETTLES_S) -> ClusterSurvey:
    """The cluster when it takes writes after a change that was made.

    Raises CheckFailed, whose outcome is that it was made, when it takes none in time.
    """
    try:
        return settling.wait_writable(target, timeout=timeout)
    except Unavailable as error:
        failed = CheckFailed(
            f"{what}, and that stays so; but the cluster is {error.message}",
            hint="`qsync status` shows what it lacks",
        )
        failed.outcome = Outcome.COMMITTED
        raise failed from None


def _pair(each: ClusterMember) -> str:
    if each.standing == Standing.ANONYMOUS and each.runs is not None:
        return f"  {each.runs[:_SHOWN]}"
    if each.named == each.runs or each.runs is None:
        return f"  {each.named[:_SHOWN]}" if each.named else ""
    named = each.named[:_SHOWN] if each.named else "nobody"
    return f"  runs on {each.runs[:_SHOWN]}, named is {named}"
