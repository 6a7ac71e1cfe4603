"""The interactive shell as a person sees it, on a terminal of 80 x 24 and a real lab."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import qsync
from admin.lab.lab import Lab
from tests.live import real
from tests.terminal import screen
from tests.terminal.screen import Screen

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with real.running(tmp_path_factory.mktemp("shell") / "pets", nodes=3) as found:
        yield found


@pytest.fixture
def shell(here: Lab, tmp_path: Path) -> Iterator[Screen]:
    with screen.running("shell", here.dir, home=tmp_path) as found:
        found.until(r"pets/n\d\*:\d+>")
        yield found


def test_the_prompt_names_cluster_node_role_and_term(shell: Screen) -> None:
    assert "3 nodes, this is n" in shell.text
    shell.until("Alt-Enter new line")
    shell.enter("1 + 1, 'x'")
    shell.until(r"> 1 \+ 1, 'x'\n2\nx\n")


def test_a_statement_goes_on_until_it_is_whole(shell: Screen) -> None:
    shell.enter("for i = 1, 2 do")
    shell.until(r"\.\.\. *\n(.|\n)*not complete: it lacks 'end'")
    shell.enter("print('row', i)")
    shell.enter("end")
    shell.until(r"row +1\nrow +2\n")


def test_an_open_quote_is_said_and_what_was_typed_stays(shell: Screen) -> None:
    shell.enter("'whole' .. ' not")
    shell.until(r"not complete: a quote is open: close it on its line; Ctrl-C drops it")
    shell.enter(" any more'")
    shell.until(r"\nwhole not any more\n")


def test_a_transaction_goes_over_several_prompts_and_shows(shell: Screen, here: Lab) -> None:
    shell.enter("box.begin()")
    shell.until(r"\(tx\)>")
    shell.enter("box.space.things:replace{7, 'seven'}")
    shell.until(r"id +value\n-- +-----\n +7 +seven\n\(1 row\)")
    with qsync.connect(here.addresses, timeout=20) as db:
        assert db.space("things").get(7) is None
        shell.enter("box.commit()")
        shell.until(r"box\.commit\(\)\n(\(.* s\)\n)?pets/n\d\*:\d+>")
        assert db.space("things").get(7) == [7, "seven"]
    shell.enter("\\trace")
    shell.until(r"made by the leader(.|\n)*now: n1 \w+, n2 \w+, n3 \w+")


def test_names_are_completed_and_how_they_are_called_is_shown(shell: Screen) -> None:
    shell.type("box.space.thi")
    shell.until(r"things +id, value")
    shell.type("\t:sel")
    shell.until(r"select +\(key, \{iterator")
    shell.type("ect(")
    shell.until(r":select\(key, \{iterator, limit, offset, after\}\)")
    shell.type("\x03")
    shell.type("\\sta")
    shell.until(r"\\status +Show all nodes")


def test_ctrl_r_finds_a_line_enter_takes_it_and_enter_again_runs_it(shell: Screen) -> None:
    shell.enter("'needle ' .. 40 + 2")
    shell.until(r"\nneedle 42\n")
    shell.enter("'something else'")
    shell.until(r"\nsomething else\n")
    shell.type("\x12need")
    shell.until(r"I-search backward: need")
    shell.type("\r")
    shell.until(r"> 'needle ' \.\. 40 \+ 2 *\n(?!needle)")
    shell.until(r"\A(?!(.|\n)*I-search)")
    shell.type("\r")
    shell.until(r"(needle 42(.|\n)*){2}")


def test_ctrl_c_ends_the_chunk_and_not_the_shell(shell: Screen) -> None:
    shell.enter("while true do end")
    shell.until(r"while true do end\n")
    shell.type("\x03")
    shell.until(r"INTERRUPTED: .*no request was running")
    shell.enter("'still here'")
    shell.until(r"\nstill here\n")
    shell.type("\x04")
    assert shell.end() == 0


def test_what_is_dangerous_says_what_it_would_do_and_asks(shell: Screen) -> None:
    shell.enter("box.schema.create_space('gone'):create_index('pk')")
    shell.enter("box.space.gone:replace{1}")
    shell.until(r"\(1 row\)")
    shell.enter("box.space.gone:drop()")
    shell.until(r"Drops space gone and all its tuples \(1 now\)\.\ngo on\? \[y/N\]")
    shell.enter("n")
    shell.until(r"STOPPED: cancelled; nothing was changed")
    shell.enter("box.space.gone:drop()")
    shell.until(r"(go on(.|\n)*){2}")
    shell.enter("y")
    shell.until(r"go on\? \[y/N\] y\n(\(.* s\)\n)?pets/n")
    shell.enter("box.space.gone == nil")
    shell.until(r"== nil\ntrue")


def test_what_would_change_nothing_does_not_ask(shell: Screen) -> None:
    shell.enter("box.ctl.promote(), 'promoted'")
    shell.until(r"\npromoted\n")
    assert "go on?" not in shell.text


def test_other_nodes_are_spoken_to_and_all_of_them(shell: Screen) -> None:
    shell.enter("\\all box.info.name")
    shell.until(r"n1: n1\nn2: n2\nn3: n3\n")
    leader = shell.text.partition("pets/")[2][:2]
    other = "n1" if leader != "n1" else "n2"
    shell.enter(f"\\c {other}")
    shell.until(rf"this is {other} of pets\npets/{other}:\d+>")
    shell.enter("box.info.ro_reason")
    shell.until(r"ro_reason\nelection\n")
    shell.enter("box.space.things:replace{8, 'from a follower'}")
    shell.until(r"8 +from a follower")
    shell.enter("\\on nowhere 1")
    shell.until(r"there is no node 'nowhere'; there are n1, n2, n3")


def test_refusals_are_explained(shell: Screen) -> None:
    shell.enter("box.space.thing:get(1)")
    shell.until(r"did you mean the\s+space 'things'\?")
    shell.enter("\\explain")
    shell.until(r"outcome: rolled_back; retry: only after the cause is fixed")
    shell.enter("\\nothing")
    shell.until(r"there is no command \\nothing")


def test_pasted_text_with_typographic_quotes_runs_as_a_whole(shell: Screen) -> None:
    block = "x = ‘one’\nbox.begin()\nbox.rollback()\nreturn x"
    shell.type(f"\x1b[200~{block}\x1b[201~")
    shell.until(r"return x")
    shell.enter("")
    shell.until(r"typographic quotes were read as plain ones\none\n")


def test_the_screen_of_help_and_tutorial_fits(shell: Screen) -> None:
    shell.enter("\\help box.commit")
    shell.until(r"box\.commit\(\{is_sync, is_lazy, wait\}\)")
    shell.enter("\\tutorial")
    shell.until(r"1/8 +The nodes of the cluster(.|\n)*\\tutorial shows\s+lesson 2\.")
    assert all(len(line) <= 80 for line in shell.text.splitlines())


def test_the_last_chunk_is_edited_and_runs_when_it_is_wanted(here: Lab, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\necho EDITING\nsed -i 's/one/two/' \"$1\"\n")
    editor.chmod(0o700)
    with screen.running("shell", here.dir, home=tmp_path, EDITOR=f"{editor} ") as shell:
        shell.until(r"\*:\d+>")
        shell.enter("'the one'")
        shell.until(r"\nthe one\n")
        shell.enter("\\e")
        shell.until(r"EDITING\npets/n\d\*:\d+> 'the two'")
        shell.enter("")
        shell.until(r"\nthe two\n")
        editor.write_text("#!/bin/sh\nexit 3\n")
        shell.enter("\\e")
        shell.until(r"ended with\s+3\s+\(its\s+text\s+was\s+not")
    with screen.running("shell", here.dir, home=tmp_path, EDITOR="/nowhere/ed") as shell:
        shell.until(r"\*:\d+>")
        shell.enter("\\e")
        shell.until(r"/nowhere/ed\s+cannot be started: No such")


def test_results_go_to_a_file_while_errors_stay(shell: Screen, tmp_path: Path) -> None:
    file = tmp_path / "out"
    shell.type(f"\\o {tmp_path}/")
    shell.enter("out")
    shell.until(r"results\s+go\s+to")
    shell.enter("'into the file'")
    shell.enter("x.y")
    shell.until(r"LUA: .*global 'x'")
    shell.enter("\\o")
    shell.until(r"1\s+line\s+written")
    assert "\ninto the file" not in shell.text
    assert file.read_text() == "into the file\n"


def test_lines_are_remembered_but_no_secrets(here: Lab, tmp_path: Path) -> None:
    for line in ("'first line'", "password = 'x'"):
        with screen.running("shell", here.dir, home=tmp_path) as shell:
            shell.until(r"\*:\d+>")
            shell.enter(line)
            shell.until(r"> .*\n(.*\n)*pets/n")
            shell.type("\x04")
            assert shell.end() == 0
    kept = (tmp_path / "qsync" / "shell_history").read_text()
    assert "first line" in kept
    assert "password" not in kept
    with screen.running("shell", here.dir, home=tmp_path) as shell:
        shell.until(r"\*:\d+>")
        shell.type("\x1b[A")
        shell.until(r"> 'first line'")


def test_a_new_leader_is_announced_above_the_prompt_and_followed(shell: Screen, here: Lab) -> None:
    leader = shell.text.partition("pets/")[2][:2]
    shell.type("'typed before")
    here.kill(here.node(leader))
    try:
        shell.until(rf"{leader} does not answer")
        text = shell.until(
            r"leader moved \w+ -> n\d, term \d+(.|\n)*pets/n\d\*!:\d+> 'typed before"
        )
        assert f"pets/{leader}*!" not in text
        shell.enter("'")
        shell.until(r"\ntyped before\n")
    finally:
        here.start(here.node(leader))
    shell.until(rf"{leader} is back")


def test_a_write_that_is_left_waiting_is_unknown_and_told_about_later(
    shell: Screen, here: Lab
) -> None:
    leader = shell.text.partition("pets/")[2][:2]
    others = [node for node in here.nodes if node.name != leader]
    for node in others:
        here.pause(node)
    try:
        shell.enter("box.space.things:replace{9, 'late'}")
        shell.until(r"replace\{9, 'late'\}\n")
        shell.type("\x03")
        shell.until(r"INTERRUPTED_UNKNOWN: interrupted while replace was running")
        shell.enter("\\limbo")
        shell.until(r"(acks, 1 more\s+needed from|Nobody leads)")
    finally:
        for node in others:
            here.resume(node)
    shell.until(r"the replace that was interrupted")


def test_an_interrupted_write_whose_outcome_stays_unknown_is_asked_for(
    shell: Screen, here: Lab
) -> None:
    leader = shell.text.partition("pets/")[2][:2]
    others = [node for node in here.nodes if node.name != leader]
    shell.enter("box.begin()")
    shell.until(r"\(tx\)>")
    shell.enter("box.space.things:replace{11, 'later'}")
    shell.until(r"\(1 row\)")
    for node in others:
        here.pause(node)
    try:
        shell.enter("box.commit{timeout = 3}")
        shell.until(r"commit\{timeout = 3\}\n")
        shell.type("\x03")
        shell.until(r"INTERRUPTED_UNKNOWN: interrupted while commit was running")
        shell.until(r"the commit that was interrupted: OUTCOME_UNKNOWN")
        shell.until(r"its outcome will be shown here; \\retry asks at once")
    finally:
        for node in others:
            here.resume(node)
    shell.until(r"the write of token")


def test_a_cluster_in_production_wants_the_name_typed(tmp_path: Path) -> None:
    with (
        real.running(tmp_path / "prod", nodes=1, cluster__tag="production") as found,
        screen.running("shell", found.dir, home=tmp_path) as shell,
    ):
        shell.until(r"tagged production(.|\n)*prod/n1\*:\d+>")
        shell.enter("box.schema.create_space('s'):create_index('pk')")
        shell.enter("box.space.s:truncate()")
        shell.until(r"Deletes all tuples of space s \(0 now\)\.\ntype s to go on:")
        shell.enter("y")
        shell.until(r"STOPPED: cancelled; nothing was changed")
        shell.enter("\\set confirm off")
        shell.until(r"stays on where the cluster is tagged production")


def test_fibers_go_on_between_chunks_and_the_history_has_what_was_typed(shell: Screen) -> None:
    shell.enter("fiber = require('fiber')")
    shell.enter("f = fiber.create(function() fiber.sleep(0) told = 'went on' end)")
    shell.enter("told .. ' alone'")
    shell.until(r"\nwent on alone\n")
    shell.enter("\\history /alone")
    shell.until(r"history /alone\n(.*\n)?told \.\. ' alone'\n")


def test_what_is_longer_than_the_screen_is_read_in_the_pager(here: Lab, tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\necho PAGED $(grep -c number)\n")
    pager.chmod(0o700)
    with screen.running("shell", here.dir, home=tmp_path, PAGER=str(pager)) as shell:
        shell.until(r"\*:\d+>")
        shell.enter("local t = {} for i = 1, 40 do t[i] = {number = i} end return t")
        shell.until(r"\nPAGED 40\n")
        shell.enter("\\set pager off")
        shell.enter("local t = {} for i = 1, 40 do t[i] = {number = i} end return t")
        shell.until(r"number: 40")
