"""`qsync backup restore`: makes a new cluster of a backup, and says what was restored."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.backup_keys import KeyOptions, key_options, load
from cli.examples import examples
from cli.new_authority import certified, new_authority_option
from cli.options import DIRECTORY_PATH, dry_run_option, json_option, settings_option
from cli.output import document, say, style
from cli.render.bars import bars
from qsync.units import how_many

if TYPE_CHECKING:
    from admin.backup.restoring import RestorePlan


@click.command(
    epilog=examples(
        "qsync backup restore /backups/shop ./n1 --to-time 2026-11-23T09:30:00Z", "qsync start ./n1"
    )
)
@click.argument("place", metavar="DEST")
@key_options
@click.argument("directory", type=DIRECTORY_PATH)
@click.option("--to-index", type=click.IntRange(1), help="Up to this entry of the log.")
@click.option("--to-time", metavar="TIME", help="Up to this time: ISO 8601; default zone UTC.")
@click.option("--backup", "chosen", metavar="INDEX", help="Start from this backup.")
@click.option("--listen", metavar="HOST:PORT", help="Address of the node.")
@settings_option()
@new_authority_option
@dry_run_option("what would be restored")
@json_option
def restore(
    *,
    place: str,
    key: KeyOptions,
    directory: Path,
    to_index: int | None,
    to_time: str | None,
    chosen: str | None,
    listen: str | None,
    settings: dict[str, str],
    ca_dir: Path | None,
    dry_run: bool,
) -> None:
    """Restore a backup into DIRECTORY, as the single node of a new cluster.

    Restores the newest point, unless --to-index or --to-time select another. The new cluster has
    its own id, no client sessions and one member; other nodes join it as usual.
    """
    from admin.backup import new_cluster, restoring  # noqa: PLC0415 - only here
    from admin.backup.points import WantedPoint  # noqa: PLC0415 - the same
    from admin.certs import laying  # noqa: PLC0415 - the same
    from admin.lab import next_steps  # noqa: PLC0415 - the same

    if to_index is not None and to_time is not None:
        raise click.UsageError("--to-index and --to-time name two points")
    wanted = WantedPoint(
        index=to_index, time=None if to_time is None else _moment(to_time), backup=chosen
    )
    options = settings | ({} if listen is None else {"listen": listen})
    if ca_dir is not None:
        options = laying.certified_options(ca_dir, options)
    node = new_cluster.NewNode(directory=directory, options=options)
    found = load(place, key)
    if dry_run:
        node.check()
        _tell_plan(restoring.preview(found, wanted), "would restore")
        return
    with bars() as progress:
        plan, config = restoring.restore(found, wanted, node, progress)
    if ca_dir is not None:
        laying.certify_alone(ca_dir, directory, config)
    _tell_plan(plan, "restored", cluster=config.cluster.id, directory=str(directory))
    if not style().as_json:
        say(f"wrote {directory}: {config.node.name} listens on {config.address}")
        if ca_dir is not None:
            say(certified(directory))
        has_secret = bool(config.secret)
        steps = next_steps.alone(directory, config.address, has_secret=has_secret, authority=ca_dir)
        for line in steps:
            say(line)


def _tell_plan(plan: "RestorePlan", what: str, **more: object) -> None:
    backup = plan.point.backup
    if style().as_json:
        document(
            "backup.restore" if more else "dry-run",
            verb="restore",
            backup=backup.index,
            origin=plan.origin,
            index=plan.index,
            asked=plan.point.index,
            clipped=plan.clipped,
            went_back=plan.went_back,
            short_of=plan.short_of,
            entries=plan.index - backup.index,
            left_out=plan.left_out,
            term=plan.term,
            generation=plan.generation,
            dropped=list(plan.dropped),
            **more,
        )
        return
    if plan.clipped:
        say(plan.clipped)
    if plan.short_of is not None:
        say(
            f"the log that is kept ends at {when(plan.short_of)}: what was confirmed between then "
            "and that moment, if anything was, is not there"
        )
    if plan.went_back is not None:
        say(
            f"a clock went back: entry {plan.went_back} is left out, with all behind index "
            f"{plan.index}, though its time is not after that moment; --to-index can name it"
        )
    entries = how_many(plan.index - backup.index, "entry")
    say(
        f"{what} index {plan.index} of cluster {plan.origin}: backup {backup.index} with "
        f"{how_many(backup.rows, 'row')}, and {entries} of the log behind it, without "
        f"{how_many(plan.left_out, 'later entry')}"
    )
    if more:
        say(f"the new cluster is {more['cluster']}; its terms begin at {plan.term}")
    for each in plan.dropped:
        done = "was" if more else "would be"
        say(f"{each} fits no single node and {done} dropped: set it again with the others there")


def when(seconds: float) -> str:
    """A time as people read it, in UTC."""
    if not seconds:
        return "the beginning"
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _moment(written: str) -> float:
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        raise click.BadParameter(
            f"{written!r} is no time, such as 2026-11-23T09:30:00Z", param_hint="--to-time"
        ) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
