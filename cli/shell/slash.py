"""Commands with a backslash: what is about the shell, or about all nodes at once."""

import difflib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from cli.shell import looking, steering
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
    "help": Command(steering.help_, "[TOPIC]"),
    "tutorial": Command(steering.tutorial, "[NEXT|N]"),
    "c": Command(steering.connect, "NODE|leader|TARGET"),
    "follow": Command(steering.follow, "on|off"),
    "set": Command(steering.set_, "[NAME VALUE]"),
    "x": Command(steering.cycle),
    "i": Command(steering.include, "FILE"),
    "o": Command(steering.output, "[FILE|>> FILE]"),
    "e": Command(steering.edit),
    "status": Command(looking.status),
    "limbo": Command(looking.limbo),
    "why": Command(looking.why),
    "spaces": Command(looking.spaces),
    "d": Command(looking.definition, "SPACE"),
    "tx": Command(looking.transaction),
    "retry": Command(steering.retry, "[TOKEN]"),
    "resolve": Command(steering.resolve, "[TOKEN]"),
    "trace": Command(looking.trace, "[INDEX]"),
    "explain": Command(looking.explain, "[CODE]"),
    "all": Command(looking.everywhere, "LUA"),
    "on": Command(looking.on_node, "NODE LUA"),
    "watch": Command(looking.repeat, "PERIOD LUA"),
    "q": Command(steering.leave),
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
        except steering.CommandMisused as error:
            raise ConfigError(str(error), hint=usage(name).splitlines()[0]) from None


def usage(name: str) -> str:
    """How a command is used, and what it does."""
    command = COMMANDS[name]
    return f"\\{name} {command.takes}".rstrip() + f"\n    {command.about}"
