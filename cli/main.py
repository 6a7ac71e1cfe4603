"""The `qsync` command: finds the sub-command, runs it, and turns its end into an exit code."""

import importlib
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NoReturn

import click
from typing_extensions import override

from cli.ending import OUTPUTS, interrupted_by_exception, open_streams, silence, unread
from cli.examples import examples
from cli.exits import Exit, NoFile, WrongUsage, exit_of
from cli.output import Style, complain, complaint
from qsync import __version__
from qsync.disk_errors import NO_ROOM, OF_DISKS
from qsync.errors import Outcome, QsyncError
from qsync.form import form

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("cli.commands.demo:demo", "Watch a cluster survive the death of its leader."),
    "lab": ("cli.commands.lab:lab", "A local cluster of real processes in the background."),
    "init": ("cli.commands.node:init", "Found a cluster: of one node, or of several hosts."),
    "node": ("cli.commands.node:node", "Run one node in the foreground."),
    "start": ("cli.commands.node:start", "Run the node of a directory made by `init`."),
    "status": ("cli.commands.status:status", "Show all nodes, and whether the cluster can commit."),
    "top": ("cli.commands.top:top", "Show a live dashboard of a cluster."),
    "info": ("cli.commands.status:info", "Print the status of one node, or a part of it."),
    "shell": ("cli.commands.shell:shell", "Open an interactive Lua shell; -e, -f and pipes too."),
    "get": ("cli.commands.data:get", "Read one tuple by its key."),
    "select": ("cli.commands.data:select", "Read tuples in the order of an index."),
    "count": ("cli.commands.data:count", "Count tuples."),
    "insert": ("cli.commands.data:insert", "Insert a tuple; fails if its key exists."),
    "replace": ("cli.commands.data:replace", "Insert or replace a tuple."),
    "update": ("cli.commands.data:update", "Change fields of one tuple."),
    "upsert": ("cli.commands.data:upsert", "Insert a tuple, or update the existing one."),
    "delete": ("cli.commands.data:delete", "Remove one tuple by its key."),
    "resolve": ("cli.commands.data:resolve", "Find the outcome of a write by its token."),
    "promote": ("cli.commands.lead:promote", "Make a node the leader."),
    "demote": ("cli.commands.lead:demote", "Make the leader step down."),
    "clear-synchro-queue": (
        "cli.commands.lead:clear_synchro_queue",
        "Take over the limbo and confirm what is pending.",
    ),
    "member": ("cli.commands.member:member", "List, add, remove and replace members."),
    "user": ("cli.commands.users:user", "Manage users, passwords and privileges."),
    "role": ("cli.commands.users:role", "Manage roles: named sets of privileges."),
    "audit": ("cli.commands.audit:audit", "Show and verify the audit trail of a node."),
    "log": ("cli.commands.log:log", "Read or verify a node's log, online or from its directory."),
    "bench": ("cli.commands.bench:bench", "Put load on a cluster and measure it."),
    "drill": ("cli.commands.drill:drill", "Rehearse a failure and check the outcome."),
    "sim": ("cli.commands.sim:sim", "Simulate a whole cluster from one seed."),
    "soak": ("cli.commands.soak:soak", "Run many seeds, check each, resume later."),
    "campaign": (
        "cli.commands.campaign:campaign",
        "Inject random faults into real nodes under load.",
    ),
    "doctor": ("cli.commands.doctor:doctor", "Diagnose a cluster: problems and fixes."),
    "backup": ("cli.commands.backup:backup", "Back up, verify and restore a cluster."),
    "recover": ("cli.commands.recover:recover", "Recover a cluster that lost its majority."),
    "dump": ("cli.commands.dump:dump", "Collect evidence from nodes for `qsync check`."),
    "check": ("cli.commands.check:check", "Check recorded histories for violations."),
    "config": ("cli.commands.config:config", "Check, show and explain configuration."),
    "deploy": (
        "cli.commands.deploy:deploy",
        "Print files for systemd, containers, Kubernetes, shells.",
    ),
    "cert": ("cli.commands.cert:cert", "Create, show and verify TLS certificates."),
    "explain": ("cli.commands.explain:explain", "Explain an error or exit code, and its fix."),
    "help": ("cli.commands.help:help_command", "Show a how-to guide, or the help of a command."),
}
"""The module of each command, and its line in the list of commands. Loaded when it is called."""


EXECUTE = "-e"
"""`qsync -e LUA` is short for `qsync shell -e LUA`."""


class OutputClosed(Exception):
    """The reader of our output, such as `head`, has had enough.

    Of a BrokenPipeError click makes exit code 1, which says of ours that nothing was applied.
    """


class LazyGroup(click.Group):
    """A group that imports a command only to run it or to show its own help."""

    @override
    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: object,
    ) -> click.Context:
        try:
            return super().make_context(info_name, args, parent, **extra)
        except BrokenPipeError as error:
            if not unread():
                raise
            raise OutputClosed from error

    @override
    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            if not unread():
                raise
            raise OutputClosed from error

    @override
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    @override
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        found = getattr(importlib.import_module(module), name)
        assert isinstance(found, click.Command)
        interrupted_by_exception()
        return found

    @override
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])

    @override
    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """The names of commands are completed without loading them all."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - seldom wanted

        found = [
            CompletionItem(name, help=about)
            for name, (_, about) in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    @override
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS:
            import difflib  # noqa: PLC0415 - only for a typing error

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            meant = f" Did you mean {near[0]!r}?" if near else " `qsync --help` lists them."
            ctx.fail(f"There is no command {args[0]!r}.{meant}")
        return super().resolve_command(ctx, args)


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=examples("qsync demo", "qsync help", "qsync status --help")
    + "\n\nExit codes: 0 done, 1 failed, 2 usage, 3 no node, 4 refused, 5 outcome unknown, "
    "6 check failed, 7 stopped, 8 not healed.",
)
@click.version_option(
    f"{__version__} ({form()})", prog_name="qsync", message="%(prog)s %(version)s"
)
def group() -> None:
    """Run, watch and prove a qsync cluster."""


def main(args: list[str] | None = None) -> NoReturn:
    """Run the command line and exit the process."""
    open_streams()
    sys.exit(run(sys.argv[1:] if args is None else args))


def run(args: list[str]) -> int:
    """Run one command; its exit code."""
    try:
        return _run(args)
    except (OutputClosed, BrokenPipeError):
        gone = unread()
        if not gone:
            raise
        silence(gone)
        return Exit.DONE


def _in_order(args: list[str]) -> list[str]:
    """Two things may stand before the command: `-e LUA` alone, and the target of any command."""
    target, rest = _target_first(args)
    if rest and rest[0].startswith(EXECUTE):
        rest = ["shell", *rest]
    if target is None or not rest:
        return rest or args
    options = _before_operands(rest)
    return [*options, "--target", target, *rest[len(options) :]]


def _before_operands(args: list[str]) -> list[str]:
    """The part of a command line in which options are options: up to `--`."""
    return args[: args.index("--")] if "--" in args else args


def _named(error: click.ClickException) -> WrongUsage:
    """An error of the command line as one of ours, for JSON."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    hint = "" if context is None else f"{context.command_path} --help"
    return WrongUsage(error.format_message(), hint=hint)


def _refuse(error: click.ClickException, style: Style, args: list[str]) -> None:
    """Say what is wrong with the command line."""
    try:
        error.show()
    finally:
        if "--json" in _before_operands(args):
            complaint(_named(error), style)


def _told(code: int, tell: Callable[[], None]) -> int:
    """Call `tell`, and return the exit code even if nobody can read what it prints."""
    try:
        tell()
    except OSError as lost:
        if not isinstance(lost, BrokenPipeError) and lost.errno not in OF_DISKS:
            raise
        silence(OUTPUTS)
    return code


def _no_file(error: OSError, style: Style) -> NoFile:
    """A file that was named, or the output. What the command had changed before stays changed."""
    what = f"{error.filename or 'the output'}: {error.strerror}"
    named = NoFile(what, hint=_hint(error))
    if style.changed:
        named = NoFile(f"{what}; what was changed stays", hint="look before you repeat it")
        named.outcome = Outcome.UNKNOWN
    return named


def _hint(error: OSError) -> str:
    """What to do about a file that cannot be read or written, or nothing."""
    if error.errno in NO_ROOM:
        return "free some space, or name another place"
    return "check the disk, or name another place" if error.errno in OF_DISKS else ""


def _target_first(args: list[str]) -> tuple[str | None, list[str]]:
    first = args[0] if args else ""
    if first in {"-t", "--target"} and len(args) > 1:
        return args[1], args[2:]
    name, given, value = first.partition("=")
    return (value, args[1:]) if given and name == "--target" else (None, args)


def _run(args: list[str]) -> int:
    style = Style()
    args = _in_order(args)
    try:
        result = group.main(args=args, prog_name="qsync", standalone_mode=False, obj=style)
    except click.ClickException as error:
        return _told(error.exit_code, partial(_refuse, error, style, args))
    except (click.Abort, KeyboardInterrupt):
        what = "interrupted; what was changed stays" if style.changed else "interrupted"
        return _told(Exit.INTERRUPTED, partial(print, what, file=sys.stderr))
    except QsyncError as error:
        return _told(exit_of(error), partial(complain, error, style, args))
    except BrokenPipeError:
        raise  # of what click lets through
    except OSError as error:
        if error.filename is None and error.errno not in OF_DISKS:
            raise  # Nothing that a user named: a mistake of ours, to be seen whole.
        named = _no_file(error, style)
        return _told(exit_of(named), partial(complain, named, style))
    return int(result) if isinstance(result, int) else Exit.DONE
