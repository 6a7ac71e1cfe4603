"""What the shell knows by name: completion, hints, help, settings, the prompt and its news."""

import subprocess
import sys
from pathlib import Path

import pytest
from prompt_toolkit.document import Document

from cli.shell import cluster_watch, luahints, pager, remembered, tutorial
from cli.shell.chunks import chunks
from cli.shell.cluster_watch import NodeStanding
from cli.shell.complete import ClusterNames, candidates, hint, hint_line
from cli.shell.failures import LuaSyntax
from cli.shell.formats import OutputFormat
from cli.shell.known import BOX, SPACE
from cli.shell.manual import page
from cli.shell.prompt import HistoryFile, lexer_of
from cli.shell.settings import ShellSettings
from cli.shell.slash import COMMANDS
from qsync.errors import ConfigError
from qsync.status import decode
from qsync.status.record import NodeStatus
from tests.answers import placed
from tests.unit.lua import Bench

ROOT = Path(__file__).parents[2]
NAMES = ClusterNames(
    spaces={"accounts": (("id", "owner", "balance"), ("pk", "by_owner"))},
    nodes=("n1", "n2"),
    commands={"help": "Explain.", "c": "Speak to another node."},
    settings=ShellSettings.names(),
)


def words(line: str) -> list[str]:
    return [each.text for each in candidates(line, NAMES)]


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("bo", "box"),
        ("return whi", "while"),
        ("box.", "space"),
        ("box.ct", "ctl"),
        ("box.ctl.pro", "promote"),
        ("box.schema.cre", "create_space"),
        ("box.why.", "waiting"),
        ("box.info.sy", "synchro"),
        ("box.cfg.read", "read_only"),
        ("box.cfg{read", "read_only = "),
        ("box.cfg{read_only = true, rep", "replication_timeout = "),
        ("box.space.acc", "accounts"),
        ("box.space['acc", "accounts"),
        ("x = box.space.accounts:se", "select"),
        ("box.space.accounts.", "index"),
        ("box.space.accounts.index.by", "by_owner"),
        ("box.space.accounts:update(1, {{'+', 'bal", "balance"),
        ("box.space['accounts']:se", "select"),
        ("box.space['accounts'].index.by", "by_owner"),
        ("box.commit({is_", "is_sync = "),
        ("box.begin{is_sync = true, ti", "timeout = "),
        ("box.space.accounts:select({1, 'x'}, {iter", "iterator = "),
        ("box.space.accounts:select(1, {iterator = 'g", "ge"),
        ("box.schema.create_space('x', {is_", "is_sync = "),
        ("box.space.accounts:create_index('x', {par", "parts = "),
        ("box.commit{wait = 'sub", "submit"),
        ("box.watch('box.el", "box.election"),
        ("box.ctl.dry_run('pro", "promote"),
        ("box.ctl.demote('n", "n2"),
        ("sync:repl", "replace"),
        ("\\he", "\\help"),
        ("\\c n", "n1"),
        ("\\c lea", "leader"),
        ("\\d acc", "accounts"),
        ("\\set for", "format"),
        ("\\set format js", "jsonl"),
        ("\\set timing o", "off"),
        ("\\follow o", "on"),
        ("\\help box.ctl.pro", "box.ctl.promote"),
        ("\\all box.info.ele", "election"),
    ],
)
def test_a_line_can_be_completed(line: str, word: str) -> None:
    assert word in words(line)


@pytest.mark.parametrize(
    "line",
    [
        "x = 'some text ",
        "box.space.nowhere:x",
        "12",
        "box.nothing.",
        "box.space.accounts:update(1, {{'=', ",
        "\\set rows 1",
    ],
)
def test_nothing_is_made_up(line: str) -> None:
    assert words(line) == []


def test_the_hint_line_says_how_a_thing_is_called() -> None:
    assert hint("box.ctl.promote(").startswith("box.ctl.promote()")
    assert hint("box.space.t:update(1, {{").startswith(":update(key,")
    assert hint("1 + 1") == ""
    whole = hint("box.commit(")
    assert hint_line("box.commit(", 200) == whole
    for width in (40, 60, 79):
        cut = hint_line("box.commit(", width)
        assert len(cut) <= width
        assert cut.endswith(" ...")
        assert whole.startswith(cut.removesuffix("..."))


def test_every_page_of_help_says_what_its_thing_does() -> None:
    assert all(f"\\{name}" in page(None) for name in COMMANDS)
    assert len(page(None).splitlines()) < 24
    listed = page("commands", 80)
    assert all(f"\\{name} " in listed for name in COMMANDS)
    assert "..." not in listed
    assert all(len(line) <= 80 for line in listed.splitlines())
    for name in (*BOX, *COMMANDS, *SPACE):
        assert "there is no page" not in page(name)
        assert len(page(name).splitlines()) > 1, name
    assert "box.ctl.demote" in page("box.ctl")
    assert "did you mean box.ctl.promote" in page("box.ctl.promot")
    assert all(len(line) <= 60 for line in page("box.commit", 60).splitlines())


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("attempt to index a nil value (global 'os')", "no os"),
        ("attempt to index a nil value (global 'pets')", "leave out the `local`"),
        ("attempt to index a nil value (field 'acounts')", "did you mean the space 'accounts'?"),
        ("malformed number near '5ULL'", "leave the LL away"),
        ("attempt to index a nil value (field 'nix')", "no space 'nix'; there are accounts"),
        ("attempt to index a nil value (field 'other')", ""),
        ("something else", ""),
    ],
)
def test_common_mistakes_have_a_hint(message: str, told: str) -> None:
    source = "box.space.nix:get(1) + box.other.x"
    found = luahints.hint(message, source=source, gone={"pets"}, spaces=["accounts"])
    assert told in found
    assert bool(found) == bool(told)


@pytest.mark.parametrize(
    ("source", "name", "told"),
    [
        ("box.spaec.accounts:get(1)", "spaec", "did you mean box.space?"),
        ("box.shema.user.list()", "shema", "did you mean box.schema?"),
        ("box.schema.usr.list()", "usr", "did you mean box.schema.user?"),
        ("box.space.schema:get(1)", "schema", "there is no space 'schema'; there are accounts"),
        ("mine.spaec.x", "spaec", ""),
    ],
)
def test_a_misspelt_part_of_box_has_a_hint(source: str, name: str, told: str) -> None:
    message = f"attempt to index a nil value (field '{name}')"
    assert luahints.hint(message, source=source, gone=(), spaces=["accounts"]) == told


def test_locals_of_a_chunk_are_known_to_be_gone() -> None:
    assert luahints.locals_of("local a = 1\n  local function b() end\nc = 2") == {"a", "b"}


def test_settings_change_one_by_one_and_refuse_what_is_wrong() -> None:
    settings = ShellSettings()
    settings.change("format", "json", production=False)
    settings.change("rows", "5", production=False)
    settings.change("confirm", "off", production=False)
    assert (settings.format, settings.rows, settings.confirm) == (OutputFormat.JSON, 5, False)
    assert settings.as_typed("confirm") == "off"
    for name, text, why in (
        ("format", "xml", "not one of auto"),
        ("rows", "0", "not a number of rows"),
        ("timing", "maybe", "neither on nor off"),
        ("colour", "red", "not a setting"),
    ):
        with pytest.raises(ValueError, match=why):
            settings.change(name, text, production=False)


def test_questions_cannot_be_switched_off_in_production() -> None:
    with pytest.raises(ValueError, match="tagged production"):
        ShellSettings().change("confirm", "off", production=True)


def status(**more: object) -> NodeStatus:
    peers = [{"name": "n2", "status": "up"}, {"name": "n3", "status": "up"}]
    usual = {"name": "n1", "role": "leader", "term": 7, "leader_name": "n1", "peers": peers}
    return decode.status(placed(usual | more))


def test_the_prompt_says_who_where_and_whether_a_transaction_is_open() -> None:
    here = cluster_watch.read(status(), NodeStanding(cluster="demo"))
    assert here.prompt(open_=False) == "demo/n1*:7> "
    assert here.prompt(open_=True) == "demo/n1*:7(tx)> "
    away = [{"name": "n2", "status": "down"}]
    assert cluster_watch.read(status(peers=away), here).prompt(open_=False) == "demo/n1*!:7> "
    alone = cluster_watch.read(status(role="follower", leader_name=None, peers=[]), here)
    assert alone.prompt(open_=False) == "demo/n1?:7> "
    assert NodeStanding(cluster="demo", node="n1", term=7, reached=False).mark == "~"


def test_news_are_told_once() -> None:
    before = cluster_watch.read(status(role="follower", leader_name="n2"), NodeStanding())
    after = cluster_watch.read(status(term=8), before)
    assert cluster_watch.news(before, after) == ["leader moved n2 -> n1, term 8"]
    assert cluster_watch.news(after, after) == []
    away = cluster_watch.read(status(term=8, peers=[{"name": "n3", "status": "down"}]), after)
    assert cluster_watch.news(after, away) == ["n3 is away"]
    assert cluster_watch.news(away, after) == ["n3 is back"]


def test_a_text_is_one_chunk_or_its_statements() -> None:
    compile_ = Bench().runtime.compile
    assert chunks(compile_, "local x = 1\nreturn x", name="=t") == ["local x = 1\nreturn x"]
    assert chunks(compile_, "1 + 1\nfor i = 1, 2 do\nf(i)\nend\n\\status\n2", name="=t") == [
        "1 + 1",
        "\nfor i = 1, 2 do\nf(i)\nend",
        "\\status",
        "\n\n\n\n\n2",
    ], "each is on its line, as errors name it"
    assert chunks(compile_, "  \n", name="=t") == []
    with pytest.raises(LuaSyntax, match="t:2: unexpected symbol near '='"):
        chunks(compile_, "y = 1\nx = = 1", name="=t")


def test_lessons_are_lua_that_can_be_typed() -> None:
    compile_ = Bench().runtime.compile
    for number, (_, _, typed, _) in enumerate(tutorial.LESSONS, start=1):
        assert chunks(compile_, typed, name="=t")
        assert tutorial.lesson(number).startswith(f"{number}/8")


@pytest.mark.parametrize("command", [["-e", "1"], ["shell", "-f", "-"]])
def test_without_its_libraries_the_shell_says_how_to_install_them(command: list[str]) -> None:
    code = (
        "import sys\nsys.modules['lupa.lua54'] = None\nimport cli.main\n"
        f"sys.exit(cli.main.run([*{command!r}, '127.0.0.1:1']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        input="",
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 2
    assert "pip install 'qsync-cluster[shell]'" in done.stderr


def test_spaces_of_users_are_completed_before_the_systems() -> None:
    names = ClusterNames(spaces={"_a": ((), ()), "zoo": ((), ()), "_b": ((), ())})
    assert [each.text for each in candidates("box.space.", names)] == ["zoo", "_a", "_b"]


def test_a_method_that_is_none_is_compared_with_those_there_are() -> None:
    message = "attempt to call a nil value (method 'selct')"
    assert luahints.hint(message, source="", gone=(), spaces=()) == "did you mean 'select'?"
    message = "attempt to call a nil value (field 'promot')"
    assert luahints.hint(message, source="", gone=(), spaces=()) == "did you mean 'promote'?"
    message = "attempt to call a nil value (method 'xyz')"
    assert luahints.hint(message, source="", gone=(), spaces=()) == ""


def test_the_history_is_read_newest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "history"
    monkeypatch.setattr(remembered, "history_path", lambda: file)
    assert list(remembered.remembered()) == []
    file.write_text("\n# 1\n+one\n\n# 2\n+two\n+lines\n\n# 3\n+one\n")
    assert list(remembered.remembered()) == ["one", "two\nlines"]


def test_the_pager_is_the_one_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", "most -w")
    assert pager.pager() == ["most", "-w"]
    monkeypatch.setenv("PAGER", "")
    assert pager.pager() == []
    monkeypatch.setenv("PAGER", "'open")
    with pytest.raises(ConfigError, match="PAGER is"):
        pager.pager()
    with pytest.raises(ConfigError, match="cannot be started"):
        pager.paged(["/nowhere/less"], ["x"])


@pytest.mark.parametrize("text", ["\\help", "  \\watch 1s box.info", "\\o >> file"])
def test_the_shells_own_commands_are_not_coloured_as_mistakes_in_lua(text: str) -> None:
    shown = lexer_of(text).lex_document(Document(text))(0)
    assert "".join(part[1] for part in shown) == text
    assert all("error" not in part[0] for part in shown)


def test_lua_is_coloured() -> None:
    shown = lexer_of("return 1").lex_document(Document("return 1"))(0)
    assert ("class:pygments.keyword.reserved", "return") in {(part[0], part[1]) for part in shown}


def test_a_history_that_cannot_be_kept_is_no_error(tmp_path: Path) -> None:
    """The home of a user in a container may not be there, or may be read-only."""
    (tmp_path / "file").touch()
    for path in (tmp_path / "file" / "history", tmp_path):
        kept = HistoryFile(path)
        kept.append_string("1 + 1")
        assert kept.get_strings() == ["1 + 1"]
        assert list(HistoryFile(path).load_history_strings()) == []
