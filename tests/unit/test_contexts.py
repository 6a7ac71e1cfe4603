"""Contexts: a user's names for clusters, in a file that is read like every other one."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from cli import targets
from cli.options import target_argument
from qsync.errors import ConfigError


@pytest.fixture
def contexts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    path = targets.contexts_path()
    path.parent.mkdir(parents=True)
    return path


def test_a_context_stands_for_its_addresses(contexts: Path) -> None:
    contexts.write_text("prod: a:1,b:2\n# nothing else\n")
    assert targets.resolve("prod") == ["a:1", "b:2"]


def test_what_is_wrong_with_contexts_is_told_with_line_and_column(contexts: Path) -> None:
    contexts.write_text("prod: a:1\nprod: b:1\nother: [c:1]\n")
    with pytest.raises(ConfigError) as caught:
        targets.resolve("prod")
    assert caught.value.message.splitlines() == [
        f"{contexts}:2:1: prod: is given twice",
        f"{contexts}:3:8: other: must be a single value",
    ]


def test_a_file_of_contexts_without_any_is_fine(contexts: Path) -> None:
    contexts.write_text("# none yet\n")
    with pytest.raises(ValueError, match="is not an address"):
        targets.resolve("prod")


@pytest.mark.parametrize("variable", [None, "of-the-environment"])
def test_only_the_target_that_is_meant_is_looked_up(
    monkeypatch: pytest.MonkeyPatch, variable: str | None
) -> None:
    """A lab that is looked up decides whether this process speaks TLS: the default one did."""
    looked_up: list[str] = []

    def resolve(text: str) -> list[str]:
        looked_up.append(text)
        return [f"{text}:1"]

    monkeypatch.setattr(targets, "resolve", resolve)
    monkeypatch.setattr(targets, "default", lambda: "the-default")

    @click.command
    @target_argument
    def look(*, target: list[str]) -> None:
        click.echo(",".join(target))

    environment = {"QSYNC_TARGET": variable}
    for words in (["-t", "named"], ["--target=named"], ["named"]):
        looked_up.clear()
        done = CliRunner().invoke(look, words, env=environment)
        assert (done.output, looked_up) == ("named:1\n", ["named"])
    looked_up.clear()
    assert CliRunner().invoke(look, [], env=environment).exit_code == 0
    assert looked_up == [variable or "the-default"]
    twice = CliRunner().invoke(look, ["one", "-t", "two"], env=environment)
    assert twice.exit_code == 2
    assert "given twice" in twice.output
