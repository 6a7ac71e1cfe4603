"""Completion: names of spaces, fields, indexes, methods, options, nodes."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from cli.shell.known import BOX, GLOBALS, INFO, OPTIONS, SPACE, TAKES, TEXTS, VALUES
from cli.shell.manual import COMMAND_LIST
from cli.shell.settings import choices

_WORD: Final = re.compile(r"[A-Za-z0-9_]*\Z")
_CHAIN: Final = re.compile(r"((?:box\.space\[['\"][^'\"]+['\"]\]|[A-Za-z_]\w*)(?:[.:]\w*)*)\Z")
_IN_TEXT: Final = re.compile(r"""(['"])([^'"]*)\Z""")
_SPACE: Final = re.compile(r"box\.space(?:\.(\w+)|\[['\"]([^'\"]+)['\"]\])")
_CALLED: Final = re.compile(r"""([A-Za-z_]\w*(?:[.:]\w+)+)(?:[\s({'"][^)]*)?\Z""")
_OPTION: Final = re.compile(r"[{,]\s*(\w*)\Z")
_QUOTED: Final = re.compile(r"""(?<!\\)(['"]).*?(?<!\\)\1""")
_NAME: Final = re.compile(r"([A-Za-z_][\w.:]*)\s*\Z")
_GIVEN: Final = re.compile(r"(\w+)\s*=\s*\Z")
_MORE: Final = " ..."
_PAIRS: Final = {"{": "}", "(": ")", "[": "]"}


@dataclass(frozen=True, slots=True)
class ClusterNames:
    """The last known names in the cluster. Spaces by name: their fields and indexes."""

    spaces: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = field(default_factory=dict)
    nodes: tuple[str, ...] = ()
    commands: Mapping[str, str] = field(default_factory=dict)
    settings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """`text` replaces the last `length` letters."""

    text: str
    length: int
    about: str = ""


def candidates(line: str, names: ClusterNames) -> Iterator[Candidate]:
    """Return the completions of the line's end, likely ones first."""
    if line.startswith("\\"):
        yield from _command(line, names)
        return
    if len(re.findall(r"(?<!\\)['\"]", line)) % 2:
        yield from _in_text(line, names)
        return
    option = _OPTION.search(line)
    taken = _taken(line)
    if taken and option is not None:
        yield from _matching(taken, option.group(1), " = ")
        return
    chain = _CHAIN.search(line)
    if chain is not None:
        yield from _chain(chain.group(1), names)


def _taken(line: str) -> tuple[str, ...]:
    """The options of the current call, if the line ends between the braces of its options."""
    blank = _QUOTED.sub(lambda found: "_" * len(found.group()), line)
    open_: list[int] = []
    for at, letter in enumerate(blank):
        if letter in _PAIRS:
            open_.append(at)
        elif letter in _PAIRS.values() and open_:
            open_.pop()
    if not open_ or blank[open_[-1]] != "{":
        return ()
    named = _NAME.search(blank[: open_[-1]])
    if named is None and len(open_) > 1 and blank[open_[-2]] == "(":
        named = _NAME.search(blank[: open_[-2]])
    if named is None:
        return ()
    return TAKES.get(named.group(1)) or TAKES.get(named.group(1).rpartition(":")[2], ())


def _chain(chain: str, names: ClusterNames) -> Iterator[Candidate]:
    """`box.info.sy`, `box.space.accounts:se`, or the beginning of a word."""
    head, mark, word = _split(chain)
    if not mark:
        yield from _matching(GLOBALS, word)
    elif head.startswith("box.space"):
        yield from _of_space(head, mark, word, names)
    elif mark == ":":
        yield from _methods(word)
    elif head == "box.info":
        yield from _matching(INFO, word)
    elif head == "box.cfg":
        yield from _matching(OPTIONS, word)
    else:
        yield from _members(head, word)


def _of_space(head: str, mark: str, word: str, names: ClusterNames) -> Iterator[Candidate]:
    found = re.fullmatch(r"box\.space(?:\.(?=\w)|\[['\"])([^'\"\].]+)(?:['\"]\])?(\.index)?", head)
    if mark == ":":
        yield from _methods(word)
    elif head == "box.space":
        for name in sorted(names.spaces, key=_of_the_system):
            fields, _ = names.spaces[name]
            if name.startswith(word):
                yield Candidate(name, len(word), ", ".join(fields))
    elif found is not None and found.group(2):
        yield from _matching(names.spaces.get(found.group(1), ((), ()))[1], word)
    elif found is not None:
        yield from _matching(("index", "id", "name", "is_sync"), word)


def _of_the_system(space: str) -> bool:
    return space.startswith("_")


def _methods(word: str) -> Iterator[Candidate]:
    for name, (call, about) in SPACE.items():
        if name.startswith(word):
            yield Candidate(name, len(word), f"{call}  {about}")


def _members(head: str, word: str) -> Iterator[Candidate]:
    """The next word of every known name with this prefix."""
    seen: dict[str, str] = {}
    start = f"{head}.{word}"
    for name, (call, about) in BOX.items():
        if name.startswith(start):
            rest = name[len(head) + 1 :]
            first, dot, _ = rest.partition(".")
            seen.setdefault(first, "" if dot else f"{call}  {about}".strip())
    for name, about in seen.items():
        yield Candidate(name, len(word), about)


def _in_text(line: str, names: ClusterNames) -> Iterator[Candidate]:
    """Inside a literal: a space's name, or a field of the space in the line."""
    found = _IN_TEXT.search(line)
    if found is None:
        return
    word, before = found.group(2), line[: found.start()]
    if before.endswith("box.space["):
        yield from _matching(sorted(names.spaces, key=_of_the_system), word)
        return
    option, call = _GIVEN.search(before), _NAME.search(before.rstrip("( "))
    if option is not None:
        yield from _matching(VALUES.get(option.group(1), ()), word)
        return
    if call is not None and call.group(1) in TEXTS:
        yield from _matching((*TEXTS[call.group(1)], *_members_of(call.group(1), names)), word)
        return
    about = [one or two for one, two in _SPACE.findall(before)]
    if about and about[-1] in names.spaces:
        yield from _matching(names.spaces[about[-1]][0], word)


def _members_of(call: str, names: ClusterNames) -> tuple[str, ...]:
    return names.nodes if call == "box.ctl.demote" else ()


def _command(line: str, names: ClusterNames) -> Iterator[Candidate]:
    name, blank, rest = line[1:].partition(" ")
    if not blank:
        for each, about in names.commands.items():
            if each.startswith(name):
                yield Candidate(f"\\{each}", len(line), about)
        return
    word = _WORD.search(rest)
    yield from _matching(_known_to(name, rest, names), word.group() if word is not None else "")
    if name == "help":
        yield from _matching((*BOX, COMMAND_LIST, *names.commands), rest)
    if name in {"all", "on", "watch"} and "." in rest:
        chain = _CHAIN.search(rest)
        if chain is not None:
            yield from _chain(chain.group(1), names)


def _known_to(command: str, rest: str, names: ClusterNames) -> Iterable[str]:
    """Return the words that a command takes."""
    match command:
        case "c" | "on" if " " not in rest:
            return (*names.nodes, "leader")
        case "d":
            return names.spaces
        case "set":
            setting, chosen, _ = rest.partition(" ")
            return choices(setting) if chosen else names.settings
        case "follow":
            return choices(command)
        case _:
            return ()


def _matching(found: Iterable[str], word: str, tail: str = "") -> Iterator[Candidate]:
    for each in found:
        if each.startswith(word):
            yield Candidate(each + tail, len(word))


def _split(chain: str) -> tuple[str, str, str]:
    """`box.info.sy` is `box.info`, `.` and `sy`."""
    at = max(chain.rfind("."), chain.rfind(":"))
    return (chain[:at], chain[at], chain[at + 1 :]) if at >= 0 else ("", "", chain)


def hint_line(line: str, width: int) -> str:
    """Return the hint within this many columns, without partial words."""
    found = hint(line)
    if len(found) <= width:
        return found
    return found[: width - len(_MORE)].rpartition(" ")[0].rstrip() + _MORE


def hint(line: str) -> str:
    """The signature of the call being typed; empty if unknown."""
    chain = _CALLED.search(line)
    if chain is None:
        return ""
    name = chain.group(1)
    if name in BOX:
        call, about = BOX[name]
        return f"{name}{call}  {about}"
    method = name.rpartition(":")[2]
    if ":" in name and method in SPACE:
        call, about = SPACE[method]
        return f":{method}{call}  {about}"
    return ""
