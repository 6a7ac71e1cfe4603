"""`qsync help TOPIC`: a how-to guide in the terminal, or what a command says of itself."""

import sys

import click

from cli import completions, guides
from cli.examples import examples
from cli.guides import Guide
from cli.options import json_option
from cli.output import document, show, style, text


@click.command(
    epilog=examples("qsync help", "qsync help secure-a-cluster", "qsync help member add")
)
@click.argument("topic", nargs=-1, metavar="[TOPIC]", shell_complete=completions.topics)
@json_option
@click.pass_context
def help_command(ctx: click.Context, /, *, topic: tuple[str, ...]) -> None:
    """Show a how-to guide, such as secure-a-cluster, or the help of a command.

    Without a topic: all guides, by topic and title.
    """
    if not topic:
        _list(guides.all_guides())
        return
    command = completions.command_named(ctx.find_root(), topic)
    if command is not None:
        text(command.get_help())
    else:
        _show(guides.guide(" ".join(topic)))


def _list(found: list[Guide]) -> None:
    if style().as_json:
        document("help", topics=[{"topic": each.topic, "title": each.title} for each in found])
        return
    width = max(len(each.topic) for each in found)
    for each in found:
        text(f"{each.topic:<{width}}  {each.title}")


def _show(found: Guide) -> None:
    if style().as_json:
        document("help", topic=found.topic, title=found.title, markdown=found.markdown)
    elif style().plain or not sys.stdout.isatty():
        text(found.markdown.rstrip())
    else:
        from rich.markdown import Markdown  # noqa: PLC0415 - slow to import, and seldom needed

        show(Markdown(found.markdown))
