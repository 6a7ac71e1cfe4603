"""`qsync doctor`: some three dozen checks of a cluster, each finding with its fix."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from cli.examples import examples
from cli.exits import CheckFailed
from cli.options import Duration, json_option, target_argument, timeout_option
from cli.output import WIDTH_ELSEWHERE, console, document, style, text

if TYPE_CHECKING:
    from admin.doctor.checks import CheckResult


@click.command(
    epilog=examples(
        "qsync doctor lab",
        "# in scripts",
        "qsync doctor --json",
        "# some of the checks",
        "qsync doctor --check disk-room --check quorum-margin",
    )
)
@target_argument
@click.option(
    "--check", "names", multiple=True, metavar="NAME", help="Run only this check. Repeatable."
)
@click.option("--backups", metavar="DEST", help="Check the backups at DEST as well.")
@click.option(
    "--backup-age",
    type=Duration(),
    default="1d",
    show_default=True,
    help="Maximum age of the newest backup.",
)
@click.option("--list", "list_", is_flag=True, help="List the checks.")
@timeout_option("2s")
@json_option
def doctor(
    *,
    target: list[str],
    names: tuple[str, ...],
    backups: str | None,
    backup_age: float,
    list_: bool,
    timeout: float,
) -> None:
    """Diagnose a cluster: name each problem and its fix.

    Exits with 6 when something is wrong. Findings that are only worth knowing do not count.
    """
    from admin.doctor import checks, facts  # noqa: PLC0415 - only this command needs them

    wanted = checks.chosen(names)
    if list_:
        _list([(checks.name_of(each), checks.about(each)) for each in wanted])
        return
    known = facts.gather(target, timeout=timeout)
    if backups is not None:
        kept = facts.backups_at(backups, age_max=backup_age, now=datetime.now(UTC).timestamp())
        known = replace(known, backups=kept)
    results = checks.run(known, wanted)
    if style().as_json:
        document("doctor", healthy=not checks.wrong(results), checks=[_member(r) for r in results])
    else:
        from cli.render.doctor import report  # noqa: PLC0415 - rich is slow to import

        screen = console()
        screen.width = screen.width if screen.is_terminal else WIDTH_ELSEWHERE
        screen.print(report(results))
    found = checks.wrong(results)
    if found:
        raise CheckFailed(
            f"{len(found)} of {len(results)} checks complain" if len(found) > 1 else found[0].text,
            hint="each finding says what to do",
        )


def _list(known: list[tuple[str, str]]) -> None:
    if style().as_json:
        document("doctor.checks", checks=[{"name": n, "about": about} for n, about in known])
        return
    for name, about in known:
        text(f"{name:<26} {about}")


def _member(result: "CheckResult") -> dict[str, object]:
    return {
        "name": result.name,
        "about": result.about,
        "findings": [
            {
                "severity": each.severity,
                "subject": each.subject,
                "text": each.text,
                "fix": each.fix,
            }
            for each in result.findings
        ],
    }
