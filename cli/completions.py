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
    """Guides with their titles, and commands."""
    from cli import guides  # noqa: PLC0415 - reads every guide

    found = [(each.topic, each.title) for each in guides.all_guides()]
    root = ctx.find_root()
    if isinstance(root.command, click.Group):
        found += [(name, "command") for name in root.command.list_commands(root)]
    return list(_beginning(found, incomplete))


def errors(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Codes of errors, with what they are."""
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
