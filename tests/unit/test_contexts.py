"""Contexts: a user's names for clusters, in a file that is read like every other one."""

from pathlib import Path

import pytest

from cli import targets
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
