"""`qsync backup`: what a cluster holds, kept where its nodes are not, and made a cluster again."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from cli.backup_keys import (
    KeyOptions,
    key_options,
    load,
    make_key,
    make_sealing_key,
    open_place,
)
from cli.backup_restore import restore, when
from cli.examples import examples
from cli.exits import CheckFailed
from cli.options import Duration, Size, dry_run_option, json_option, target_option
from cli.output import document, say, style, text
from cli.render.bars import bars
from qsync.units import how_many

if TYPE_CHECKING:
    from admin.backup.catalogue import Catalogue
    from admin.backup.manifest import BackupManifest

_EVERY_S_MIN = 0.01
_RATE_MIN = 1024
"""Below this a backup is as good as stopped."""
_place = click.argument("place", metavar="DEST")
_rate = click.option(
    "--rate",
    type=Size(least=_RATE_MIN),
    metavar="SIZE",
    help="Read at most this per second: 20MiB.",
)


@click.group(epilog=examples("qsync backup create /backups/a", "qsync backup verify /backups/a"))
def backup() -> None:
    """Back up a cluster, verify backups and restore them.

    DEST is a folder, or a URL that fsspec reaches, such as s3://bucket/shop (pip install
    'qsync-cluster[backup]', and the package for that kind of place). It holds the backups of one
    cluster, and the log between them.
    """


@backup.command(epilog="Example: qsync backup create /backups/shop --target 10.0.0.1:3301")
@_place
@key_options
@click.option("--node", metavar="NODE", help="Read from this node. [default: a follower]")
@_rate
@target_option
@json_option
def create(
    *, place: str, key: KeyOptions, node: str | None, rate: int | None, target: list[str]
) -> None:
    """Make a backup of a running cluster.

    It has all rows at an exact index, and the log from there up to now, while reads and writes go
    on. A backup is complete or absent; after an interruption the same command continues it. A new
    place that is given a key is sealed: it can only be read with that key. A sealing key makes
    backups that it cannot read.
    """
    from admin.backup import taking  # noqa: PLC0415 - only here

    reached = open_place(place, key, begins=True)
    with bars() as progress:
        options = taking.TakingOptions(node=node, bytes_per_s=rate, say=say, progress=progress)
        made = taking.take_backup(reached, target, options)
    if style().as_json:
        document("backup", place=place, **_members(made))
        return
    size = sum(each.size for each in made.parts)
    say(
        f"{place}: backup {made.index}, {how_many(made.rows, 'row')}, {size} bytes, "
        f"and the log up to index {made.last} ({when(made.time)})"
    )


backup.add_command(make_key)
backup.add_command(make_sealing_key)
backup.add_command(restore)


@backup.command(epilog="Example: qsync backup archive s3://bucket/shop --target 10.0.0.1:3301")
@_place
@key_options
@click.option(
    "--every",
    type=Duration(least=_EVERY_S_MIN),
    default="10s",
    show_default=True,
    help="The interval.",
)
@click.option("--once", is_flag=True, help="Exit when everything that is confirmed now is stored.")
@click.option("--node", metavar="NODE", help="Read from this node. [default: a follower]")
@_rate
@target_option
def archive(
    *,
    place: str,
    key: KeyOptions,
    every: float,
    once: bool,
    node: str | None,
    rate: int | None,
    target: list[str],
) -> None:
    """Copy the log of a running cluster as it grows, until interrupted.

    With an archive every point can be restored, not only those that a backup reached. It follows
    one node, and another one when that does not answer; a place without a backup gets one first.
    """
    from admin.backup import archiving, taking  # noqa: PLC0415 - only here

    reached = open_place(place, key, begins=True)
    with bars() as progress:
        options = archiving.ArchivingOptions(
            taking=taking.TakingOptions(node=node, bytes_per_s=rate, say=say, progress=progress),
            every_s=every,
        )
        archiving.Archiver(reached, target, options).run(once=once)


@backup.command("list", epilog="Example: qsync backup list /backups/shop --prometheus")
@_place
@key_options
@click.option("--prometheus", is_flag=True, help="Print metrics for a textfile collector instead.")
@json_option
def list_(*, place: str, key: KeyOptions, prometheus: bool) -> None:
    """List the backups, and to which points each can be restored.

    Names and sizes of all files are compared with the manifests, and no file is read: `verify` does
    that. Exits with 6 if anything is missing or cut short.
    """
    from admin.backup import points  # noqa: PLC0415 - only here

    if prometheus and style().as_json:
        raise click.UsageError("--prometheus and --json are two formats")
    found = load(place, key)
    if prometheus:
        from admin.metrics import backups  # noqa: PLC0415 - only here

        text(backups.expose(found, place).rstrip("\n"))
        return
    gaps = points.gaps(found)
    if style().as_json:
        document(
            "backups",
            place=place,
            cluster=found.cluster,
            sealed=found.sealed,
            backups=[
                {
                    **_members(each),
                    "reach": found.reach(each),
                    "until": found.until(each),
                    "complete": not found.missing(each),
                    "missing": found.missing(each),
                }
                for each in found.backups
            ],
            unfinished=found.unfinished,
            gaps=gaps,
            problems=found.problems,
        )
    else:
        _tell_listed(found, gaps)
    if found.problems:
        raise CheckFailed(f"{place}: {found.problems[0]}")


def _tell_listed(found: "Catalogue", gaps: list[tuple[int, int]]) -> None:
    say(f"cluster {found.cluster}{', sealed' if found.sealed else ''}")
    for each in found.backups:
        leads = (
            f"restores to {each.index}..{found.reach(each)}, {when(each.index_time)} .. "
            f"{when(found.until(each))}"
        )
        if found.missing(each):
            torn = each.index in found.torn
            leads = f"incomplete: {'it cannot be restored' if torn else leads}"
        text(
            f"{each.index:>12}  {when(each.ended)}  {how_many(each.rows, 'row')} from {each.node}"
            f"; {leads}"
        )
    for index in found.unfinished:
        say(f"{index:>12}  unfinished: `qsync backup create` continues it")
    _tell_gaps(gaps)
    for problem in found.problems:
        say(problem)


@backup.command(epilog="Example: qsync backup verify s3://bucket/shop")
@_place
@key_options
@json_option
def verify(*, place: str, key: KeyOptions) -> None:
    """Verify every byte: parts, rows, the chain of the log; report what is missing."""
    from admin.backup import verifying  # noqa: PLC0415 - only here

    found = load(place, key)
    with bars() as progress:
        result = verifying.verify(found, progress)
    if style().as_json:
        document(
            "backup.verify",
            place=place,
            cluster=found.cluster,
            whole=result.whole,
            backups=result.backups,
            parts=result.parts,
            bytes=result.bytes,
            rows=result.rows,
            entries=result.entries,
            problems=result.problems,
            gaps=result.gaps,
        )
    else:
        for problem in result.problems:
            text(problem)
        _tell_gaps(result.gaps)
        say(
            f"{how_many(result.backups, 'backup')}, {how_many(result.parts, 'part')}, "
            f"{result.bytes} bytes: {how_many(result.rows, 'row')}, "
            f"{how_many(result.entries, 'entry')} of the log"
        )
    if result.problems:
        raise CheckFailed(f"{place}: {result.problems[0]}")


@backup.command(epilog="Example: qsync backup prune /backups/shop --keep-last 3 --keep-within 30d")
@_place
@key_options
@click.option("--keep-last", type=click.IntRange(1), metavar="N", help="Keep the newest N.")
@click.option(
    "--keep-within", type=Duration(), metavar="AGE", help="Keep those up to this age: 30d."
)
@dry_run_option("what would be removed")
@json_option
def prune(
    *,
    place: str,
    key: KeyOptions,
    keep_last: int | None,
    keep_within: float | None,
    dry_run: bool,
) -> None:
    """Remove old backups, and the log that no remaining backup needs.

    A backup is kept if either option keeps it, as are all newer ones; the newest one is always
    kept. Every point since the oldest remaining backup can be restored as before.
    """
    from admin.backup import pruning  # noqa: PLC0415 - only here

    if keep_last is None and keep_within is None:
        raise click.UsageError("say what is kept: --keep-last N, --keep-within AGE, or both")
    found = load(place, key)
    kept = pruning.KeptBackups(last=keep_last, seconds=keep_within)
    plan = pruning.plan(found, kept, now=datetime.now(UTC).timestamp())
    if not dry_run:
        with bars() as progress:
            pruning.prune(found, plan, progress)
    if style().as_json:
        document(
            "dry-run" if dry_run else "backup.prune",
            verb="prune",
            place=place,
            kept=[each.index for each in plan.kept],
            removed=[each.index for each in plan.backups],
            unfinished=list(plan.unfinished),
            parts=len(plan.log) + len(plan.orphans),
            bytes=plan.bytes,
            begins=plan.begins,
        )
        return
    for each in plan.backups:
        text(f"{each.index:>12}  {when(each.ended)}  {how_many(each.rows, 'row')} from {each.node}")
    for index in plan.unfinished:
        text(f"{index:>12}  unfinished")
    say(
        f"{'would remove' if dry_run else 'removed'} {how_many(len(plan.backups), 'backup')} and "
        f"{how_many(len(plan.log) + len(plan.orphans), 'part')} of the log, {plan.bytes} bytes; "
        f"kept {how_many(len(plan.kept), 'backup')}, from index {plan.begins} on"
    )


def _members(made: "BackupManifest") -> dict[str, object]:
    return {
        "backup": made.index,
        "cluster": made.cluster,
        "index": made.index,
        "term": made.term,
        "last": made.last,
        "last_term": made.last_term,
        "node": made.node,
        "begun": made.begun,
        "ended": made.ended,
        "rows": made.rows,
        "bytes": sum(each.size for each in made.parts),
        "parts": len(made.parts),
    }


def _tell_gaps(gaps: list[tuple[int, int]]) -> None:
    for first, last in gaps:
        say(f"no log is kept of {first}..{last}: no point in between can be restored")
