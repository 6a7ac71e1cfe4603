"""`qsync explain CODE`: what an error or an exit code means for the data, and the cure."""

import importlib

import click

from cli.error_help import ERROR_HELP, ERROR_MODULES, ErrorHelp
from cli.exits import Exit, exit_of, retry_of
from cli.options import json_option
from cli.output import document, style, text
from qsync.errors import ConfigError, Outcome, QsyncError, all_errors

_DATA = {
    Outcome.COMMITTED: "The write took effect.",
    Outcome.ROLLED_BACK: "Nothing was written, or it was undone for certain.",
    Outcome.UNKNOWN: "The write may have taken effect or may still do so: never say it failed.",
}


@click.command(epilog="Example: qsync explain OUTCOME_UNKNOWN; qsync explain 5; qsync explain list")
@click.argument("code", default="list")
@json_option
def explain(*, code: str) -> None:
    """Explain an error code, such as NOT_LEADER, or an exit code, such as 4.

    `list` names them all.
    """
    for home in ERROR_MODULES:
        importlib.import_module(home)
    if code == "list":
        _list()
    elif code.isdigit():
        _exit(int(code))
    else:
        _error(code)


def _list() -> None:
    classes = all_errors()
    if style().as_json:
        document(
            "explain",
            codes=[_members(each) for each in classes],
            exits=[{"exit": int(each), "about": each.about} for each in Exit],
        )
        return
    for each in classes:
        text(f"{each.code:<18} {_about(each)}")
    for code in Exit:
        text(f"exit {int(code):<13} {code.about}")


def _exit(code: int) -> None:
    if code not in set(Exit):
        known = ", ".join(str(int(each)) for each in Exit)
        raise ConfigError(f"no command exits with {code}; there are {known}")
    found = Exit(code)
    raised = [each.code for each in all_errors() if exit_of(each("")) is found]
    if style().as_json:
        document("explain", exit=code, about=found.about, codes=raised)
        return
    text(f"exit {code}: {found.about}")
    if raised:
        text(f"errors that end so: {', '.join(raised)}")


def _error(code: str) -> None:
    wanted = code.upper().replace("-", "_")
    found = next((each for each in all_errors() if each.code == wanted), None)
    if found is None:
        raise ConfigError(f"there is no error code {code!r}", hint="`qsync explain list`")
    if style().as_json:
        document("explain", **_members(found))
        return
    text(f"{found.code} ({found.number})")
    text(f"  {_about(found)}")
    text(f"  data: {_DATA[found.outcome]}")
    text(f"  retry: {retry_of(found)}")
    text(f"  why: {_help_of(found).why}")
    text(f"  cure: {_help_of(found).do}")
    text(f"  exit code: {int(exit_of(found('')))}")


def _help_of(kind: type[QsyncError]) -> ErrorHelp:
    return ERROR_HELP.get(kind.code, ErrorHelp("not told", kind.hint or "not told"))


def _about(kind: type[QsyncError]) -> str:
    return (kind.__doc__ or "").partition("\n")[0]


def _members(kind: type[QsyncError]) -> dict[str, object]:
    return {
        "code": kind.code,
        "number": kind.number,
        "about": _about(kind),
        "outcome": kind.outcome.value,
        "retryable": kind.retryable,
        "hint": kind.hint,
        "why": _help_of(kind).why,
        "cure": _help_of(kind).do,
        "exit": int(exit_of(kind(""))),
    }
