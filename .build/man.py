"""Manual pages, made of the page about the command line, which is made of the code.

    python .build/man.py --into DIR        DIR/qsync.1, DIR/qsync-init.1, ... one a command

A wheel carries them to `share/man/man1` below the place that it is installed at.
"""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "command-line.md"
PROGRAM = "qsync"
_PART = re.compile(r"^## `qsync (?P<words>[^`]*)`$", re.MULTILINE)
_ROW = re.compile(r"^\| `(?P<option>[^`]*)` \| (?P<does>.*) \|$")
_CODE = " " * 4
"""Before each line of an example."""
_ARGUMENT = re.compile(r"^(\[|[A-Z{<])")


def pages(text: str, version: str) -> dict[str, str]:
    """The manual by file name. `text`: the page; `version`: of qsync."""
    parts = _parts(text)
    commands: dict[str, list[tuple[str, str]]] = {}
    for words, about in parts:
        commands.setdefault(words.split()[0], []).append((words, about))
    made = {
        f"{PROGRAM}-{name}.1": "\n".join([*_command(name, found, version), ""])
        for name, found in commands.items()
    }
    made[f"{PROGRAM}.1"] = "\n".join([*_overview(commands, version), ""])
    return made


def _parts(text: str) -> list[tuple[str, str]]:
    """Of each command its words with its arguments, and what is said of it."""
    _, *cut = _PART.split(text.replace("<!-- end -->", ""))
    return list(zip(cut[::2], (each.strip() for each in cut[1::2]), strict=True))


def _overview(commands: dict[str, list[tuple[str, str]]], version: str) -> Iterator[str]:
    yield from _head(PROGRAM, "run, watch and prove a replicated database", version)
    yield ".SH SYNOPSIS"
    yield rf".B {PROGRAM}"
    yield r"\fICOMMAND\fR [\fIOPTIONS\fR] ..."
    yield ".SH COMMANDS"
    for name, ((_, about), *_) in commands.items():
        yield ".TP"
        yield rf"\fB{_plain(PROGRAM)}\-{_plain(name)}\fR(1)"
        yield _said(_first(about))
    yield ".SH EXIT STATUS"
    yield "0 done, 1 failed, 2 usage, 3 no node, 4 refused, 5 outcome unknown, 6 check failed,"
    yield "7 stopped, 8 not healed."
    yield rf"\fB{PROGRAM} explain\fR says what each of them means for the data."


def _command(name: str, found: list[tuple[str, str]], version: str) -> Iterator[str]:
    (words, about), *below = found
    yield from _head(f"{PROGRAM}-{name}", _first(about), version)
    yield ".SH SYNOPSIS"
    for each, _ in below or [(words, about)]:
        yield _usage(each)
        yield ".br"
    yield ".SH DESCRIPTION"
    yield from _told(about)
    if below:
        yield ".SH COMMANDS"
    for each, said in below:
        yield f".SS {_quoted(f'{PROGRAM} {each}')}"
        yield from _told(said)
    yield ".SH SEE ALSO"
    yield rf"\fB{PROGRAM}\fR(1)"


def _head(name: str, about: str, version: str) -> Iterator[str]:
    yield f'.TH {_quoted(name.upper())} 1 "" {_quoted(f"{PROGRAM} {version}")} "qsync manual"'
    yield ".SH NAME"
    yield rf"{_plain(name)} \- {_said(about.rstrip('.'))}"


def _usage(words: str) -> str:
    cut = words.split()
    name = [each for each in cut if not _ARGUMENT.match(each)]
    rest = "".join(rf" \fI{_plain(each)}\fR" for each in cut[len(name) :])
    return rf"\fB{_plain(' '.join([PROGRAM, *name]))}\fR{rest}"


def _told(about: str) -> Iterator[str]:
    """Paragraphs and the table of options."""
    for paragraph in about.split("\n\n"):
        rows = [row for line in paragraph.splitlines() if (row := _ROW.match(line))]
        lines = paragraph.splitlines()
        if all(line.startswith(_CODE) for line in lines):
            yield from [".PP", ".RS 4", ".nf"]
            yield from (_said(line.removeprefix(_CODE)) for line in lines)
            yield from [".fi", ".RE"]
        elif not rows:
            yield ".PP"
            yield _said(" ".join(paragraph.split()))
        for row in rows:
            yield ".TP"
            option, does = (row[part].replace("\\|", "|") for part in ("option", "does"))
            yield rf"\fB{_plain(option)}\fR"
            yield _said(does)


def _first(about: str) -> str:
    """The first sentence, which is a paragraph of its own."""
    return " ".join(about.partition("\n\n")[0].split())


def _said(text: str) -> str:
    """A line of text: what is in backquotes is bold."""
    cut = [_plain(each) for each in text.split("`")]
    said = "".join(rf"\fB{each}\fR" if odd % 2 else each for odd, each in enumerate(cut))
    return rf"\&{said}" if said.startswith((".", "'")) else said


def _plain(text: str) -> str:
    """As it is: no character of it means anything to troff."""
    return text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq").replace("^", r"\(ha")


def _quoted(text: str) -> str:
    return '"' + _plain(text).replace('"', r"\(dq") + '"'


def write(into: Path, version: str) -> list[Path]:
    """All pages below that folder."""
    into.mkdir(parents=True, exist_ok=True)
    made = []
    for name, text in pages(PAGE.read_text(encoding="utf-8"), version).items():
        made.append(into / name)
        made[-1].write_text(text, encoding="utf-8")
    return made


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--version", default="")
    asked = parser.parse_args()
    print(f"{len(write(asked.into, asked.version))} pages in {asked.into}")


if __name__ == "__main__":
    main()
