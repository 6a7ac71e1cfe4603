"""All checks in order, and the function that runs them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from admin.doctor import (
    backups,
    certificates,
    disks,
    leading,
    process,
    reach,
    replication,
    retention,
    settings,
)
from admin.doctor.facts import Facts, Finding, Severity
from qsync.errors import ConfigError

Look = Callable[[Facts], Iterator[Finding]]

CHECKS: tuple[Look, ...] = (
    leading.leader_writes,
    leading.majority_lost,
    leading.one_leader,
    leading.leader_agreed,
    leading.quorum_margin,
    leading.quorum_safe,
    reach.members_answer,
    reach.links_stand,
    reach.members_agree,
    reach.one_cluster,
    reach.one_version,
    replication.data_agrees,
    replication.none_superseded,
    replication.no_old_copy,
    replication.log_whole,
    replication.all_vote,
    replication.all_named,
    replication.joins_end,
    replication.replicas_keep_up,
    replication.folding_keeps_up,
    replication.limbo_moves,
    replication.limbo_room,
    replication.nothing_lost,
    replication.rolled_back,
    replication.outcomes_known,
    disks.disk_writes,
    disks.rows_sound,
    disks.rows_agree,
    disks.disk_answers,
    disks.disk_fast,
    disks.disks_even,
    disks.disk_room,
    retention.snapshots_recent,
    retention.log_trimmed,
    retention.log_held,
    backups.backups_recent,
    disks.events_written,
    disks.audit_written,
    settings.settings_agree,
    settings.timeouts_fit_disks,
    settings.writes_outlive_elections,
    settings.preferred_exist,
    settings.listens_safely,
    settings.members_prove,
    certificates.certificates_last,
    certificates.certificates_read,
    leading.leader_heard,
    leading.elections_rare,
    leading.voters_odd,
    process.clocks_agree,
    process.files_allowed,
    process.clients_allowed,
    process.refusals_few,
    process.no_mishaps,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One check and its findings; no findings means that it passed."""

    name: str
    about: str
    findings: tuple[Finding, ...]


def name_of(check: Look) -> str:
    """Return the name of a check on the command line."""
    return check.__name__.replace("_", "-")


def about(check: Look) -> str:
    """Return what a check claims, as a sentence."""
    return (check.__doc__ or "").partition("\n")[0]


def chosen(names: Iterable[str]) -> list[Look]:
    """Return the checks of these names, or all. Raises ConfigError that lists the names."""
    wanted = list(names)
    known = {name_of(check): check for check in CHECKS}
    for name in wanted:
        if name not in known:
            raise ConfigError(f"there is no check {name!r}; there are {', '.join(known)}")
    return [known[name] for name in wanted] or list(CHECKS)


def run(facts: Facts, checks: Iterable[Look] = CHECKS) -> list[CheckResult]:
    """Run every check on the same facts, in order."""
    return [
        CheckResult(name=name_of(each), about=about(each), findings=tuple(each(facts)))
        for each in checks
    ]


def wrong(results: Iterable[CheckResult]) -> list[Finding]:
    """Return the findings that are more than notes, the worst first."""
    found = [each for result in results for each in result.findings if each.severity.wrong]
    return sorted(found, key=lambda each: list(Severity).index(each.severity))
