"""`qsync explain CODE`: what an error or an exit code means for the data, and the fix."""

import click

from cli import completions, explanations
from cli.examples import examples
from cli.exits import Exit
from cli.options import json_option
from cli.output import document, style, text
from qsync.errors import ConfigError


@click.command(
    epilog=examples("qsync explain OUTCOME_UNKNOWN", "qsync explain 5", "qsync explain list")
)
@click.argument("code", default="list", shell_complete=completions.errors)
@json_option
def explain(*, code: str) -> None:
    """Explain an error code, such as NOT_LEADER, or an exit code, such as 4.

    `list` names them all.
    """
    if code == "list":
        _list()
    elif code.isdigit():
        _exit(int(code))
    else:
        _error(code)


def _list() -> None:
    found = explanations.all_explanations()
    if style().as_json:
        document(
            "explain",
            codes=[each.as_members() for each in found],
            exits=[{"exit": int(each), "about": each.about} for each in Exit],
        )
        return
    for each in found:
        text(f"{each.kind.code:<18} {each.about}")
    for code in Exit:
        text(f"exit {int(code):<13} {code.about}")


def _exit(code: int) -> None:
    if code not in set(Exit):
        known = ", ".join(str(int(each)) for each in Exit)
        raise ConfigError(f"no command exits with {code}; there are {known}")
    found = Exit(code)
    raised = [each.kind.code for each in explanations.all_explanations() if each.exit == code]
    if style().as_json:
        document("explain", exit=code, about=found.about, codes=raised)
        return
    text(f"exit {code}: {found.about}")
    if raised:
        text(f"errors that end so: {', '.join(raised)}")


def _error(code: str) -> None:
    found = explanations.explain(code)
    if style().as_json:
        document("explain", **found.as_members())
        return
    for line in found.lines():
        text(line)
