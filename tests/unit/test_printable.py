"""Names and values of others on a terminal: they are shown, and steer nothing."""

import io
import json
from pathlib import Path

import click
import pytest
from rich.markup import escape
from rich.table import Table

from cli.main import run
from cli.output import Style, show
from cli.printable import one_line, printable
from cli.render.screen import SafeConsole
from qsync.config.sections import AuditSection
from qsync.node.auditing import AuditTrail

CLEAR, TITLE, CSI, BACK = "\x1b[2J", "\x1b]0;mine\x07", "\x9b2J", "\u202e"
STEERING = CLEAR + TITLE + CSI + BACK + "\r\x7f"


def test_what_steers_a_terminal_is_shown_as_an_escape() -> None:
    shown = printable(STEERING)
    assert shown.isprintable()
    assert shown.startswith(r"\u001b[2J\u001b]0;mine\u0007\u009b2J\u202e")


@pytest.mark.parametrize("text", ["plain", "two\nlines\tand a tab", "grün 漢字 שלום", ""])
def test_other_text_is_as_it_was(text: str) -> None:
    assert printable(text) is text or printable(text) == text


def test_one_line_stays_one() -> None:
    assert one_line("a\nb\tc") == r"a\u000ab\u0009c"


def test_json_means_the_same() -> None:
    given = {"name": STEERING, "\\": "\\" + CSI}
    text = printable(json.dumps(given, ensure_ascii=False))
    assert text.isprintable()
    assert json.loads(text) == given


@pytest.mark.parametrize("terminal", [False, True])
def test_a_table_on_a_terminal_is_steered_by_its_own_colours_only(
    *, terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    paper = io.StringIO()
    console = SafeConsole(
        file=paper,
        force_terminal=terminal,
        color_system="standard" if terminal else None,
        width=100,
        highlight=False,
    )
    table = Table("name")
    table.add_row(escape(STEERING), style="red")
    console.print(table)
    console.print(STEERING, markup=False)
    told = paper.getvalue()
    assert ("\x1b[31m" in told) is terminal
    for each in (CLEAR, TITLE, CSI, BACK, "\r", "\x7f", "\x07"):
        assert each not in told
    assert told.count(r"\u001b[2J") == 2


def test_a_name_is_shown_as_it_is_and_not_as_a_picture(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("name")
    table.add_row(":cat:")
    with click.Context(click.Command("user"), obj=Style()):
        show(table)
    assert ":cat:" in capsys.readouterr().out


def test_who_fails_to_log_in_writes_no_line_and_no_control_on_the_auditor_s_screen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody needs a password to choose a name that fails."""
    trail = AuditTrail(tmp_path, AuditSection(), now=lambda: 0.0, wall=lambda: 0.0, alarm=print)
    name = f"nobody{STEERING}\n     2 1970-01-01T00:00:00.000+00:00 login        root"
    trail.note_failure(name, "10.0.0.1", "user or password is wrong")
    assert run(["audit", "show", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert told.count("\n") == 1
    assert told.removesuffix("\n").isprintable()
    assert "nobody" in told
    assert run(["audit", "show", str(tmp_path), "--json"]) == 0
    text = capsys.readouterr().out.removesuffix("\n")
    assert text.isprintable()
    assert json.loads(text)["user"] == name
