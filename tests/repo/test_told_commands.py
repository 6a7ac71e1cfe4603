"""The commands that pages and error messages name are there, with their options."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from cli.main import group
from tests.repo import tree

_SPAN = re.compile(r"`(qsync [^`\n]+)`")
_LINE = re.compile(r"(?m)^[ $]*(qsync [^\n`]+)$")
_REST = re.compile(r"\s#|\s\||;|&&|\s[<>]|\s&$|\.\.\.")
"""What follows in a line of a shell is not of the command."""
_OPTION = re.compile(r"--[a-z][a-z-]*")
_ELSEWHERE = {
    "docs/reference/wire.md": "its transcripts begin with `qsync`, the name of the protocol",
    "docs/how-to/install.md": "it begins a sentence with the name",
    "docs/changelog.md": "it tells what was",
}


def told() -> Iterator[Path]:
    """Pages, and the sources whose messages name commands."""
    for path in (*tree.files(".md"), *tree.files(".py")):
        name = tree.name(path)
        here = name.startswith(("README", "docs/", "cli/", "admin/", "qsync/"))
        if here and name not in _ELSEWHERE and not name.startswith("docs/news/"):
            yield path


def commands(text: str, *, spans_only: bool) -> Iterator[list[str]]:
    lines = [] if spans_only else _LINE.findall(text)
    for said in (*_SPAN.findall(text), *lines):
        plain = _REST.split(said)[0].replace("\\", "").replace("[", " ").replace("]", " ")
        try:
            yield shlex.split(plain)[1:]
        except ValueError:
            continue  # a quote is closed on another line


def wrong(args: list[str]) -> str:
    """What of a command line is not there; empty: all of it is."""
    if args[:1] and args[0].startswith("-"):
        return ""  # a target, or -e of the shell, before the command
    command: click.Command = group
    context = click.Context(group)
    at = 0
    while isinstance(command, click.Group) and at < len(args) and args[at][:1] != "-":
        found = command.get_command(context, args[at])
        if found is None:
            return args[at] if re.fullmatch(r"[a-z][a-z-]+", args[at]) else ""
        command, at = found, at + 1
    known = {"--help", "--version"}
    for each in command.params:
        known |= {*each.opts, *each.secondary_opts}
    named = [_OPTION.match(each) for each in args[at:]]
    return next((each[0] for each in named if each and each[0] not in known), "")


@pytest.mark.parametrize("path", list(told()), ids=tree.name)
def test_the_commands_that_a_text_names_are_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    said = list(commands(text, spans_only=path.suffix == ".py"))
    assert [(shlex.join(each), wrong(each)) for each in said if wrong(each)] == []


def test_a_command_or_an_option_that_is_not_there_is_noticed() -> None:
    assert wrong(["log", "show", "--json"]) == "show"
    assert wrong(["log", "cat", "./n1", "--jsonl"]) == "--jsonl"
    assert wrong(["log", "cat", "./n1", "--json"]) == ""
