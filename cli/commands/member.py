"""`qsync member`: who votes, and the place of a lost disk given to a new directory."""

import click

from admin.cluster import membership, surveys
from admin.cluster.membership import ClusterMember
from admin.cluster.surveys import ClusterSurvey
from cli.options import json_option, target_argument, target_option, timeout_option
from cli.output import document, say, style, text

_SHOWN = 8
"""Characters of an instance; enough to tell two apart."""


@click.group(epilog="Example: qsync member list, then qsync member replace n3 --dry-run")
def member() -> None:
    """Who votes, and in whose place."""


@member.command("list", epilog="Example: qsync member list --json")
@target_argument
@timeout_option("2s")
@json_option
def list_(*, target: list[str], timeout: float) -> None:
    """List the members: who votes, and on which directory.

    A voter is a pair of id and directory. Who runs on another directory is a stranger: it receives
    the log, and neither votes nor counts until it is named.
    """
    found = surveys.survey(target, timeout=timeout)
    rows = membership.members(found)
    if style().as_json:
        document("members", members=[each.as_members() for each in rows])
        return
    for each in rows:
        leads = ", leads" if each.leads else ""
        text(f"{each.id:>2} {each.name:<10} {each.address:<21} {each.standing}{leads}{_pair(each)}")


@member.command(epilog="Example: qsync member replace n3 --dry-run")
@click.argument("node")
@target_option
@click.option("--dry-run", is_flag=True, help="Only say what would happen, in numbers.")
@timeout_option("30s")
@json_option
def replace(*, node: str, target: list[str], dry_run: bool, timeout: float) -> None:
    """Give the place of NODE to the directory that it runs on now.

    For a lost disk: start the node on a new directory, which makes it a stranger, and name it. The
    old pair goes out, the new one comes in; returns when both changes are decided.
    """
    found = surveys.survey(target)
    one = _member(found, node)
    would = membership.would(found, one)
    if dry_run:
        if style().as_json:
            document("dry-run", verb="replace", node=one.name, would=would)
        else:
            say(f"replace {one.name}: {membership.in_words(would)}")
        return
    membership.replace(found, one, timeout=timeout)
    after = surveys.survey(target)
    rows = membership.members(after)
    if style().as_json:
        document("members", replaced=one.name, members=[each.as_members() for each in rows])
        return
    voters = ", ".join(each.name for each in rows if each.named is not None)
    say(f"{one.name} is named; the voters are {voters}")
    say(surveys.judge(after).sentence)


def _member(found: ClusterSurvey, node: str) -> ClusterMember:
    address = surveys.node_address(found, node)
    return next(each for each in membership.members(found) if each.address == address)


def _pair(each: ClusterMember) -> str:
    if each.named == each.runs or each.runs is None:
        return f"  {each.named[:_SHOWN]}" if each.named else ""
    named = each.named[:_SHOWN] if each.named else "nobody"
    return f"  runs on {each.runs[:_SHOWN]}, named is {named}"
