"""Backslash commands for the shell itself."""

from admin.box.session import Box
from cli.shell.formats import OutputFormat
from cli.shell.remembered import remembered
from cli.shell.scripts import read_script
from cli.shell.state import ShellCore
from qsync.client.rows import Receipt
from qsync.errors import ConfigError

HISTORY_LINES = 20
_SWITCH = {"on": True, "off": False}
_CYCLE = (OutputFormat.AUTO, OutputFormat.VERTICAL, OutputFormat.YAML, OutputFormat.JSON)


class CommandMisused(Exception):
    """A command got an invalid argument."""


class Leave(Exception):
    """The shell must end."""


async def help_(shell: ShellCore, rest: str) -> None:
    """Explain a name, or list all pages."""
    shell.voices.result(await shell.help_page(rest or None))


async def tutorial(shell: ShellCore, rest: str) -> None:
    """Learn by doing. Eight short lessons, on this cluster."""
    shell.voices.result(await shell.taught(rest or None))


async def connect(shell: ShellCore, rest: str) -> None:
    """Speak to another node, the leader, or another cluster.

    Data goes to the leader in any case, unless `\\follow off` was said.
    """  # noqa: D301 - the backslash is the command's
    if not rest:
        raise CommandMisused("whom?")
    if rest == "leader":
        await shell.box.use(None)
    elif rest in shell.box.members or ":" not in rest:
        await shell.box.use(rest)
    else:
        await shell.switch(await shell.box.another(rest))
    shell.voices.say(f"this is {shell.box.name} of {shell.cluster}")


async def follow(shell: ShellCore, rest: str) -> None:
    """Follow the leader, or stay with this node."""
    if rest not in _SWITCH:
        raise CommandMisused(f"{rest!r} is neither on nor off")
    await shell.box.use(None if _SWITCH[rest] else shell.box.name)
    shell.voices.say(f"this is {shell.box.name}" + (", and stays so" if rest == "off" else ""))


async def set_(shell: ShellCore, rest: str) -> None:
    """Show the settings, or change one. Of format, rows, timing, confirm and so on."""
    settings = shell.settings
    if not rest:
        for name in settings.names():
            shell.voices.result(f"{name:11} {settings.as_typed(name)}")
        return
    name, _, value = rest.partition(" ")
    try:
        settings.change(name, value.strip(), production=shell.production)
    except ValueError as error:
        raise ConfigError(f"{name} {error}") from None
    shell.box.consistency = settings.consistency


async def resolved(
    box: Box,
    token: str,
    *,
    timeout: float | None = None,  # noqa: ASYNC109 - the caller's word
    again: bool = True,
) -> Receipt:
    """Show the outcome of a write of this session. It becomes the last write."""
    receipt = await box.data.resolve(token, timeout=timeout, again=again)
    box.last = receipt
    if box.unknown == token:
        box.unknown = None
    return receipt


async def retry(shell: ShellCore, rest: str) -> None:
    """Retry the last unknown write. It takes effect at most once.

    Or of a token's: one from elsewhere, which this shell cannot do, is resolved.
    """
    await _outcome(shell, rest, again=True)


async def resolve(shell: ShellCore, rest: str) -> None:
    """Request an unknown outcome, without a retry.

    Of the last one, or of a token's.
    If nobody has done it, it is given up: no attempt that is still on its way can do it any more.
    """
    await _outcome(shell, rest, again=False)


async def _outcome(shell: ShellCore, rest: str, *, again: bool) -> None:
    token = rest or shell.box.unknown
    if token is None:
        shell.voices.result("no write of this shell is unknown")
        return
    receipt = await resolved(shell.box, token, again=again)
    shell.voices.result(f"it took effect: term {receipt.term}, index {receipt.index}")


async def cycle(shell: ShellCore, _rest: str) -> None:
    """Show results in the next format. In turn: auto, vertical, yaml, json."""
    settings = shell.settings
    place = _CYCLE.index(settings.format) if settings.format in _CYCLE else -1
    settings.format = _CYCLE[(place + 1) % len(_CYCLE)]
    shell.voices.say(f"format {settings.format}")


async def history(shell: ShellCore, rest: str) -> None:
    """Show the last typed lines.

    Twenty, or a given number; `/TEXT` shows the lines with that text.
    """
    wanted = rest.removeprefix("/") if rest.startswith("/") else ""
    if rest and not wanted and not rest.isdigit():
        raise CommandMisused(f"{rest!r} is neither a number nor /TEXT")
    count = int(rest) if rest.isdigit() else HISTORY_LINES
    found = [each for each in remembered() if wanted in each][:count]
    for each in reversed(found):
        shell.voices.result(each)


async def include(shell: ShellCore, rest: str) -> None:
    """Run a file of Lua."""
    if not rest:
        raise CommandMisused("which file?")
    await shell.show(read_script(rest), name=f"@{rest}")


async def output(shell: ShellCore, rest: str) -> None:
    """Write results to a file; alone: back to the screen.

    All rows of them. The file is overwritten, or extended with `>>`. Errors and news stay on
    the screen.
    """
    if not rest:
        shell.voices = shell.voices.back()
        return
    shell.voices = shell.voices.into(rest)
    assert shell.voices.file is not None
    shell.voices.say(f"results go to {shell.voices.file.path}; \\o alone brings them back")


async def edit(shell: ShellCore, _rest: str) -> None:
    """Edit the last chunk in $EDITOR. It comes back as the next line, and Enter runs it."""
    await shell.edit()


async def leave(_shell: ShellCore, _rest: str) -> None:
    """Leave the shell; so does Ctrl-D."""
    raise Leave
