"""Metrics of a place of backups, for a textfile collector: nodes do not know where backups are."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from admin.metrics.families import PREFIX, MetricType
from admin.metrics.text import sample

if TYPE_CHECKING:
    from admin.backup.catalogue import Catalogue


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupFamily:
    """One gauge of a place."""

    name: str
    about: str
    of: "Callable[[Catalogue], float]"


def expose(found: "Catalogue", place: str) -> str:
    """All of them, as Prometheus reads them; the labels are `place`, and `uuid` of the cluster."""
    labels = {"place": place, "uuid": found.cluster}
    lines: list[str] = []
    for each in BACKUP_FAMILIES:
        lines += (
            f"# HELP {each.name} {each.about}",
            f"# TYPE {each.name} {MetricType.GAUGE}",
            sample(each.name, labels, each.of(found)),
        )
    return "\n".join(lines) + "\n"


def _newest(found: "Catalogue") -> float:
    whole = (each.ended for each in found.backups if not found.missing(each))
    return max(whole, default=0.0)


def _reach(found: "Catalogue") -> float:
    readable = (found.until(each) for each in found.backups if each.index not in found.torn)
    return max(readable, default=0.0)


BACKUP_FAMILIES = (
    BackupFamily(
        name=f"{PREFIX}backups",
        about="finished backups",
        of=lambda found: len(found.backups),
    ),
    BackupFamily(
        name=f"{PREFIX}backup_newest_timestamp_seconds",
        about="when the newest complete backup ended, since 1970; 0 without one",
        of=_newest,
    ),
    BackupFamily(
        name=f"{PREFIX}backup_reach_timestamp_seconds",
        about="time of the newest transaction that can be restored, since 1970; 0 without a backup",
        of=_reach,
    ),
    BackupFamily(
        name=f"{PREFIX}backup_problems",
        about="files that are missing, cut short or unreadable, as far as `list` sees",
        of=lambda found: len(found.problems),
    ),
)
