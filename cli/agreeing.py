"""Questions before a change that is not easily taken back: asked on a terminal only."""

import sys

import click

from cli.exits import StoppedByGuard

yes_option = click.option("--yes", is_flag=True, help="Do not ask.")


def check_agreed(question: str, *, yes: bool, why: str = "") -> None:
    """Ask, unless the user has said `--yes`. Raises StoppedByGuard without a yes, or a terminal.

    `why`: what makes it worth a question, to be said where none can be asked.
    """
    if yes or (sys.stdin.isatty() and click.confirm(question, err=True)):
        return
    raise StoppedByGuard(f"not confirmed, so nothing was changed{why}", hint="a script says --yes")
