"""`qsync help` shows what comes with qsync: guides, and what commands say of themselves."""

import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from cli import guides
from cli.exits import Exit
from cli.main import COMMANDS, group, run
from tests.repo import tree


def said(*args: str) -> str:
    done = CliRunner().invoke(group, ["help", *args])
    assert done.exit_code == 0, done.output
    return done.output


def test_every_guide_has_its_topic_and_title() -> None:
    pages = sorted((tree.ROOT / "docs" / "how-to").glob("*.md"))
    listed = json.loads(said("--json"))["topics"]
    assert [each["topic"] for each in listed] == [page.stem for page in pages]
    assert all(each["title"] for each in listed)
    assert "secure-a-cluster  " in said()


def test_a_guide_is_printed_as_it_stands_where_there_is_no_terminal() -> None:
    page = tree.ROOT / "docs" / "how-to" / "seal-backups.md"
    assert said("seal-backups") == page.read_text("utf-8").rstrip() + "\n"
    assert json.loads(said("seal-backups", "--json"))["markdown"] == page.read_text("utf-8")


def test_the_help_of_a_command_is_that_of_the_command() -> None:
    assert said("promote").startswith("Usage: ")
    assert " promote [OPTIONS] NODE" in said("promote").partition("\n")[0]
    assert " member add [OPTIONS] ADDRESS" in said("member", "add").partition("\n")[0]


def test_a_topic_that_is_not_there_is_refused_with_the_nearest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["help", "secure-cluster"]) == Exit.USAGE
    assert "did you mean secure-a-cluster?" in capsys.readouterr().err
    assert run(["help", "member", "xyz"]) == Exit.USAGE
    assert run(["help", "xyz"]) == Exit.USAGE
    assert "lists the topics" in capsys.readouterr().err


def test_where_no_pages_were_installed_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(guides, "INSTALLED", tmp_path / "a")
    monkeypatch.setattr(guides, "IN_A_CHECKOUT", tmp_path / "b")
    assert run(["help"]) == Exit.USAGE
    assert "the guides are not here" in capsys.readouterr().err


def test_what_code_points_to_is_a_topic() -> None:
    topics = {each.topic for each in guides.all_guides()}
    sources = [path for room in tree.PACKAGES for path in (tree.ROOT / room).rglob("*.py")]
    named = {
        topic
        for path in sources
        for topic in re.findall(r"`qsync help ([a-z-]+)`", path.read_text("utf-8"))
    }
    assert "secure-a-cluster" in named
    assert named <= topics
    for path in sources:
        assert "docs/how-to/" not in path.read_text("utf-8") or path.parent.name == "reference", (
            path
        )


def _commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        for each, inside in command.commands.items():
            yield from _commands(inside, f"{name} {each}")
    else:
        yield name, command


def _all_commands() -> Iterator[tuple[str, click.Command]]:
    for name, (place, _) in COMMANDS.items():
        module, _, command = place.partition(":")
        yield from _commands(getattr(import_module(module), command), name)


def test_every_option_says_what_it_does() -> None:
    mute = [
        f"{full} {option.opts[0]}"
        for full, command in _all_commands()
        for option in command.params
        if isinstance(option, click.Option) and not option.help
    ]
    assert mute == []


def test_every_command_that_prints_data_prints_it_as_json_too() -> None:
    without = {
        full
        for full, command in _all_commands()
        if not any("--json" in option.opts for option in command.params)
    }
    assert without == {"node", "start", "backup archive", "backup key", "backup sealing-key"}
