"""Commands with a backslash: for the shell itself, or for all nodes at once."""

import difflib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from cli.shell import inspect_commands, shell_commands
from cli.shell.state import ShellCore
from qsync.errors import ConfigError, WrongOperation

Action = Callable[[ShellCore, str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Command:
    """`takes` is what follows the name, for people."""

    action: Action
    takes: str = ""

    @property
    def about(self) -> str:
        """What it does, from its docstring."""
        return " ".join((self.action.__doc__ or "").split())


COMMANDS: Final[Mapping[str, Command]] = {
    "help": Command(shell_commands.help_, "[TOPIC]"),
    "tutorial": Command(shell_commands.tutorial, "[NEXT|N]"),
    "c": Command(shell_commands.connect, "NODE|leader|TARGET"),
    "follow": Command(shell_commands.follow, "on|off"),
    "set": Command(shell_commands.set_, "[NAME VALUE]"),
    "x": Command(shell_commands.cycle),
    "i": Command(shell_commands.include, "FILE"),
    "o": Command(shell_commands.output, "[FILE|>> FILE]"),
    "e": Command(shell_commands.edit),
    "history": Command(shell_commands.history, "[N|/TEXT]"),
    "status": Command(inspect_commands.status),
    "limbo": Command(inspect_commands.limbo),
    "why": Command(inspect_commands.why),
    "spaces": Command(inspect_commands.spaces),
    "d": Command(inspect_commands.definition, "SPACE"),
    "tx": Command(inspect_commands.transaction),
    "retry": Command(shell_commands.retry, "[TOKEN]"),
    "resolve": Command(shell_commands.resolve, "[TOKEN]"),
    "trace": Command(inspect_commands.trace, "[INDEX]"),
    "explain": Command(inspect_commands.explain, "[CODE]"),
    "all": Command(inspect_commands.everywhere, "LUA"),
    "on": Command(inspect_commands.on_node, "NODE LUA"),
    "watch": Command(inspect_commands.repeat, "PERIOD LUA"),
    "q": Command(shell_commands.leave),
}


class Commands:
    """Runs the commands of one shell."""

    def __init__(self, shell: ShellCore) -> None:
        self._shell = shell

    async def run(self, line: str) -> None:
        """Run `\\name rest`. Raises WrongOperation for a name that is none."""  # noqa: D301 - one
        name, _, rest = line.lstrip("\\").strip().partition(" ")
        command = COMMANDS.get(name)
        if command is None:
            near = difflib.get_close_matches(name, COMMANDS, n=1)
            meant = f"did you mean \\{near[0]}?" if near else "\\help lists them"
            raise WrongOperation(f"there is no command \\{name}", hint=meant)
        try:
            await command.action(self._shell, rest.strip())
        except shell_commands.CommandMisused as error:
            raise ConfigError(str(error), hint=usage(name).splitlines()[0]) from None


def usage(name: str) -> str:
    """The usage of a command, and its effect."""
    command = COMMANDS[name]
    return f"\\{name} {command.takes}".rstrip() + f"\n    {command.about}"
