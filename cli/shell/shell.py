"""A shell with its commands and help pages, which are loaded on demand."""

from typing_extensions import override

from cli.shell.state import ShellCore


class Shell(ShellCore):
    """The shell of a person, or of a script."""

    @override
    async def command(self, line: str) -> None:
        """Run a command with a backslash."""
        from cli.shell.slash import Commands  # noqa: PLC0415 - scripts seldom use them

        await Commands(self).run(line)

    @override
    async def help_page(self, topic: str | None) -> str:
        """A page of help."""
        from cli.shell.manual import page  # noqa: PLC0415 - only when asked for

        return page(topic, self.width)
