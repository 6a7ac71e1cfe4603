r"""`\help`: pages generated from the code."""

import difflib
import textwrap

from cli.shell.known import BOX, INFO, OPTIONS, SPACE

_FIRST = """\
Lua 5.4 that runs here; what begins with `box` asks the cluster. Enter runs a
statement, such as `box.info.ro`, or makes a new line if it is not complete.

  box.info  box.cfg  box.stat     the node that you speak to
  box.space.NAME:select()         the rows of a space
  box.begin()  box.commit()       a transaction
  box.ctl.promote()               who leads; what is dangerous asks first
  \\status  \\limbo  \\why           all nodes; pending writes; what waits, why
  \\spaces  \\d SPACE               the spaces; how one is defined
  \\tx  \\trace  \\explain           the transaction, last write and last error
  \\retry  \\resolve                a write whose outcome is unknown
  \\c NODE  \\follow on|off         speak to another node; always to the leader
  \\all LUA  \\on NODE LUA          ask all nodes; ask one
  \\watch 2s LUA                   ask again and again
  \\set format json  \\x            how results are shown; in the next way
  \\i FILE  \\o FILE  \\e            run a file; write results to one; an editor
  \\history  \\q                    what was typed before; leave

  \\help commands                  every command in a line
  \\help NAME                      one thing: box.ctl.promote, select, trace
  \\tutorial                       eight lessons to type along\
"""
COMMAND_LIST = "commands"


def page(topic: str | None, width: int = 80) -> str:
    """The page of a topic, or the first page, for a screen of this width."""
    if topic is None or not topic.strip():
        return _FIRST
    if topic.strip() == COMMAND_LIST:
        return _commands(width)
    lines = _page(topic).splitlines()
    return "\n".join(_wrapped(line, width) for line in lines)


def _wrapped(line: str, width: int) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(line, width, subsequent_indent=indent, break_long_words=False)


def _page(topic: str) -> str:
    name = topic.strip().removesuffix("()")
    if name.startswith("\\") or name in _command_names():
        return _command(name.removeprefix("\\"))
    if name in BOX:
        return _about(name, *BOX[name]) + _members(name)
    method = name.rpartition(":")[2]
    if method in SPACE:
        call, about = SPACE[method]
        return _about(f"space:{method}", call, about)
    within = [each for each in BOX if each.startswith(f"{name}.")]
    if within:
        return "\n".join(_about(each, *BOX[each]) for each in within)
    near = difflib.get_close_matches(name, [*BOX, *SPACE, *_command_names()], n=3)
    meant = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"there is no page about {name}{meant}"


def _about(name: str, call: str, about: str) -> str:
    return f"{name}{call}\n    {about}"


def _members(name: str) -> str:
    if name == "box.info":
        return f"\n    Members: {', '.join(INFO)}."
    if name == "box.cfg":
        return f"\n    Options: {', '.join(OPTIONS)}."
    return ""


def _command_names() -> list[str]:
    from cli.shell.slash import COMMANDS  # noqa: PLC0415 - pages seldom need them

    return list(COMMANDS)


def _command(name: str) -> str:
    from cli.shell.slash import COMMANDS, usage  # noqa: PLC0415 - pages seldom need them

    return usage(name) if name in COMMANDS else f"there is no command \\{name}"


def _commands(width: int) -> str:
    from cli.shell.slash import COMMANDS  # noqa: PLC0415 - pages seldom need them

    named = {f"\\{name} {each.takes}": each.about for name, each in COMMANDS.items()}
    room = max(len(name) for name in named)
    left = width - room - 4
    lines = [
        f"  {name:{room}}  {textwrap.shorten(_sentence(about), left, placeholder='...')}"
        for name, about in named.items()
    ]
    return "\n".join(lines)


def _sentence(text: str) -> str:
    return text.partition(". ")[0].rstrip(".")
