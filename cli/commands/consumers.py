"""`qsync member gc`: the consumers of the log, and releasing one."""

import click
import msgspec

from admin.cluster import consumers, short
from admin.cluster.consumers import LogUse
from admin.cluster.short import seconds
from cli.examples import examples
from cli.options import change_options, json_option, target_argument, timeout_option
from cli.output import document, say, style, text
from cli.printable import one_line
from cli.time_limit import TimeLimit
from cli.under_way import change_under_way
from qsync.consumer import ConsumerKind
from qsync.status.members import FOLLOWS
from qsync.status.storage import ConsumerStatus


@click.group(epilog=examples("qsync member gc list", "qsync member gc drop n3 --dry-run"))
def gc() -> None:
    """Show and change which consumers the log is kept for: members, change feeds, backups."""


@gc.command("list", epilog="Example: qsync member gc list --json")
@target_argument
@timeout_option("2s")
@json_option
def list_(*, target: list[str], timeout: float) -> None:
    """List the consumers of the log: from which index on, and how many bytes are kept for each.

    The leader answers. A consumer that holds more than `store.wal_retention_size` is dropped, and
    then needs a snapshot to go on. `of ann`: it belongs to that user.
    """
    use = consumers.look(target, timeout=timeout)
    if style().as_json:
        document("consumers", **_json(use))
        return
    gc = use.node.gc
    for each in use.consumers:
        held = "let go" if each.let_go else f"holds {short.size(each.size)}"
        name = each.about if each.kind == ConsumerKind.REPLICA else each.name
        about = each.name if each.kind == ConsumerKind.REPLICA else _about(each)
        line = f"{name:<20} {each.kind:<10} has {each.signature:<12} {held:<16} {about}"
        text(one_line(line.rstrip()))
    for one in use.node.replication_anon.replicas:
        stays = "connected" if one.status == FOLLOWS else f"for {seconds(one.expires)} more"
        text(f"{one.name:<20} anonymous  has {one.acked or 0:<12} {stays:<16} {one.uuid}")
    snapshots = ", ".join(str(each.signature) for each in gc.checkpoints) or "none"
    text(f"{use.node.name}: the log begins at {gc.signature + 1}; snapshots at {snapshots}")
    if gc.held_by is not None:
        text(f"nothing behind {gc.held_by.signature} goes: {_why(use)}")


@gc.command(epilog="Example: qsync member gc drop mailer --dry-run")
@click.argument("name")
@change_options("10s")
def drop(*, name: str, target: list[str], dry_run: bool, timeout: float) -> None:
    """Stop keeping the log for NAME: a consumer, or a member by its name or uuid.

    A member stays a member: when it comes back it takes a snapshot, and the log is kept for it
    again. Refused while it is connected. In a cluster with users a consumer is dropped by the user
    whom it belongs to, and by those with the right `member`.
    """
    limit = TimeLimit(timeout)
    use = consumers.look(target, timeout=limit.to_look)
    one = consumers.named(use, name)
    if dry_run:
        refused = consumers.refusal(use, one) or consumers.denial(use, one, timeout=timeout)
        would = consumers.in_words(use, one) if refused is None else refused.message
        if style().as_json:
            document("dry-run", verb="drop", consumer=_shown(one), would=would)
        else:
            say(f"drop {name}: {would}")
        return
    left = limit.left
    with change_under_way("member gc list"):
        consumers.drop(use, one, timeout=left)
    if style().as_json:
        document("consumers", did=f"{name} is let go", **_json(consumers.look(target, timeout=2.0)))
        return
    say(f"{name} is let go: {short.size(one.size)} of log were kept for it")


def _json(use: LogUse) -> dict[str, object]:
    gc = use.node.gc
    return {
        "node": use.node.name,
        "begins": gc.signature + 1,
        "retention": gc.retention,
        "held_by": None if gc.held_by is None else msgspec.to_builtins(gc.held_by),
        "consumers": [_shown(each) for each in use.consumers],
    }


def _about(one: ConsumerStatus) -> str:
    """The owner of a consumer, and its description."""
    return ", ".join(each for each in (one.owner and f"of {one.owner}", one.about) if each)


def _shown(one: ConsumerStatus) -> object:
    return msgspec.to_builtins(one)


def _why(use: LogUse) -> str:
    held = use.node.gc.held_by
    assert held is not None
    return f"{held.name}, {held.why}" if held.name else held.why
