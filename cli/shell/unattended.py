"""A script with concurrent fibers and watchers: an event loop, without a user."""

from collections.abc import Callable
from functools import partial

import trio
from typing_extensions import override

from admin.box.opening import open_box
from admin.box.session import Box
from cli.groups import first_of
from cli.output import note_change
from cli.shell import opened
from cli.shell.carriers import TaskCarriers
from cli.shell.failures import InterruptedUnknown
from cli.shell.following import follow_key
from cli.shell.interrupts import stopping
from cli.shell.limits import ScriptLimit
from cli.shell.oneshot import Job, run_chunks
from cli.shell.shell import Shell
from cli.shell.voices import ShellOutput
from qsync.errors import QsyncError


class FiberScript(Shell):
    """A shell without a user. Tasks of the `nursery` outlive every chunk."""

    def __init__(
        self, box: Box, voices: ShellOutput, nursery: trio.Nursery, *, read_only: bool, yes: bool
    ) -> None:
        super().__init__(box, voices, read_only=read_only, yes=yes)
        self._nursery = nursery
        self.runtime.turns.carriers = TaskCarriers(nursery)

    @override
    async def pause(self, seconds: float) -> None:
        """Wait."""
        await trio.sleep(seconds)

    @override
    def watch(self, box: Box, key: str, function: int, value: object) -> None:
        """Call a Lua function for every new value, in a fiber, until the script ends."""

        async def call(later: object) -> None:
            self.runtime.spawn_kept(function, [key, later])

        def wanted() -> bool:
            return self.runtime.keeps(function)

        follow = partial(follow_key, box, key, value, wanted=wanted, call=call)
        self._nursery.start_soon(follow)


def run_with_fibers(
    job: Job, voices: ShellOutput, collect: Callable[[list[object]], None] | None = None
) -> None:
    """Run the sources as `oneshot.run` does. Living fibers end with the script."""
    failure: BaseException | None = None
    try:
        trio.run(_run, job, voices, collect)
    except* QsyncError as group:
        failure = first_of(group, QsyncError)
    if failure is not None:
        raise failure


async def _run(
    job: Job, voices: ShellOutput, collect: Callable[[list[object]], None] | None = None
) -> None:
    async with (
        open_box(list(job.target), node=job.node, timeout=job.timeout) as box,
        trio.open_nursery() as nursery,
    ):
        shell = FiberScript(box, voices, nursery, read_only=job.read_only, yes=job.yes)
        shell.people = job.people
        shell.settings.format = job.format
        limit = ScriptLimit(job.lasts)
        shell.runtime.late = lambda: limit.error(shell.verbs) if limit.passed else None
        nursery.start_soon(shell.runtime.turns.go_on)
        try:
            with stopping(shell.runtime), trio.move_on_after(limit.grace_s) as scope:
                await run_chunks(shell, job, collect)
            if scope.cancelled_caught:
                raise limit.error(shell.verbs)
        except KeyboardInterrupt:
            raise InterruptedUnknown.unless_safe(shell.verbs.writing) from None
        finally:
            if shell.verbs.changed:
                note_change()
            opened.lose(shell.box, shell.voices)
            for sentence in shell.verbs.script_ended():
                shell.voices.say(sentence)
            shell.voices.back()
        nursery.cancel_scope.cancel()
