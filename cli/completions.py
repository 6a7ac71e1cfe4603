"""Tab completion of a shell after a command: drills, guides, error codes."""

from collections.abc import Callable, Iterable, Iterator

import click
from click.shell_completion import CompletionItem

ShellComplete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
"""The function that click calls for the completions of an incomplete word."""
_FILES = "file"
"""Click's word for: the shell completes paths here."""


def drills(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of the catalogue; where none begins so, a path."""
    from admin.drills import reader  # noqa: PLC0415 - slow to import, and seldom wanted

    return _names_or_path(reader.names(), incomplete)


def hooks(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of presets; where none begins so, a path."""
    from admin.drills.hooks import reader  # noqa: PLC0415 - slow to import, and seldom wanted

    return _names_or_path(reader.presets(), incomplete)


def topics(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Guides with their titles, and commands; after a command, those within it."""
    from cli import guides  # noqa: PLC0415 - reads every guide

    words = ctx.params.get("topic") or ()
    found = [] if words else [(each.topic, each.title) for each in guides.all_guides()]
    command = command_named(ctx.find_root(), words)
    if command is not None and isinstance(command.command, click.Group):
        found += [(name, "command") for name in command.command.list_commands(command)]
    return list(_beginning(found, incomplete))


def command_named(root: click.Context, words: Iterable[str]) -> click.Context | None:
    """The command with that name, such as `member add`."""
    found = root
    for word in words:
        group = found.command
        command = group.get_command(found, word) if isinstance(group, click.Group) else None
        if command is None:
            return None
        found = click.Context(command, info_name=word, parent=found)
    return found


def errors(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The codes of errors, with their meanings."""
    from cli import explanations  # noqa: PLC0415 - imports all that raises errors

    found = [(each.kind.code, each.about) for each in explanations.all_explanations()]
    return list(_beginning(found, incomplete.upper()))


def _names_or_path(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type=_FILES)]


def _beginning(found: Iterable[tuple[str, str]], incomplete: str) -> Iterator[CompletionItem]:
    return (
        CompletionItem(name, help=about) for name, about in found if name.startswith(incomplete)
    )
