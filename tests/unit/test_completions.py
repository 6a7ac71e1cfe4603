"""The Tab key completes what a command takes: drills, presets, guides, error codes."""

import pytest
from click.shell_completion import CompletionItem, ShellComplete

from admin.drills import reader
from admin.drills.hooks import reader as hook_reader
from cli.main import group


def completed(*args: str, incomplete: str) -> list[CompletionItem]:
    """What a shell is offered behind `qsync ARGS`."""
    shell = ShellComplete(group, {}, "qsync", "_QSYNC_COMPLETE")
    return shell.get_completions(list(args), incomplete)


@pytest.mark.parametrize("verb", ["run", "show", "lint"])
def test_drills_are_completed_by_their_names(verb: str) -> None:
    def names(incomplete: str) -> list[str]:
        return [each.value for each in completed("drill", verb, incomplete=incomplete)]

    assert names("leader-k") == ["leader-kill", "leader-kill-twice"]
    assert names("") == reader.names()


def test_options_are_completed_before_and_behind_the_drill() -> None:
    for args in ([], ["leader-kill"]):
        found = completed("drill", "run", *args, incomplete="--no")
        assert [each.value for each in found] == ["--nodes"]


def test_a_path_is_completed_where_no_name_begins_so() -> None:
    for args, incomplete in ((("drill", "run"), "./mine"), (("drill", "hooks"), "my-ho")):
        (found,) = completed(*args, incomplete=incomplete)
        assert (found.value, found.type) == (incomplete, "file")


def test_presets_of_hooks_are_completed() -> None:
    found = [each.value for each in completed("drill", "hooks", incomplete="")]
    assert found == hook_reader.presets()


def test_guides_and_commands_are_completed_with_what_they_are_about() -> None:
    found = {each.value: each.help for each in completed("help", incomplete="se")}
    assert found.keys() >= {"seal-backups", "secure-a-cluster", "select"}
    assert found["select"] == "command"
    assert "luster" in str(found["secure-a-cluster"])


def test_after_a_command_the_help_completes_what_is_within_it() -> None:
    def names(*words: str, incomplete: str = "") -> list[str]:
        return [each.value for each in completed("help", *words, incomplete=incomplete)]

    assert names("member", incomplete="re") == ["remove", "replace"]
    assert "secure-a-cluster" not in names("member")
    assert names("status") == [], "a command without commands ends the topic"
    assert names("secure-a-cluster") == []


def test_codes_of_errors_are_completed_with_what_they_mean() -> None:
    (found,) = completed("explain", incomplete="NOT_L")
    assert found.value == "NOT_LEADER"
    assert found.help
