"""Checks of the place of backups. Nodes do not know it, so `--backups` names it."""

from collections.abc import Iterator

from admin.doctor.facts import Facts, Finding, critical, warning

HOUR_S = 3600.0


def backups_recent(facts: Facts) -> Iterator[Finding]:
    """The newest backup is not older than the limit (with `--backups`)."""
    kept = facts.backups
    if kept is None:
        return
    if kept.problem:
        fix = "`qsync backup verify` reads all of it; make a backup elsewhere meanwhile"
        yield critical(kept.place, kept.problem, fix)
    elif kept.newest is None:
        yield critical(
            kept.place, "there is no finished backup", f"qsync backup create {kept.place}"
        )
    elif kept.now - kept.newest > kept.age_max:
        hours, allowed = (kept.now - kept.newest) / HOUR_S, kept.age_max / HOUR_S
        yield warning(
            kept.place,
            f"the newest backup is {hours:.1f} h old, and {allowed:.1f} h are allowed",
            f"qsync backup create {kept.place}; a timer may do it, or `qsync backup archive`",
        )
