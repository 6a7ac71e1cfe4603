"""Options that many commands share, so that they are spelt and behave the same everywhere."""

from collections.abc import Callable
from pathlib import Path
from typing import Final, ParamSpec, Protocol, TypedDict, TypeVar

import click
from click.core import ParameterSource
from typing_extensions import override

from cli.output import Style
from qsync import units
from qsync.form import form

P = ParamSpec("P")
R = TypeVar("R")
GIVEN_TWICE: Final = "the target is given twice: as TARGET and with --target"
FILE_PATH: Final = click.Path(path_type=Path, dir_okay=False)
DIRECTORY_PATH: Final = click.Path(path_type=Path, file_okay=False)
"""Paths that a command reads or writes; they need not exist."""
_NAMED = "qsync.named"


class Duration(click.ParamType[float]):
    """Seconds, written `250ms`, `5s`, `1m`; a bare number is seconds. `least`: not below this."""

    name = "duration"

    def __init__(self, *, least: float = 0.0) -> None:
        self._least = least

    @override
    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Text to seconds."""
        if isinstance(value, int | float):
            return float(value)
        text = str(value)
        try:
            bare = text.replace(".", "", 1).isdigit()
            seconds = float(text) if bare else units.duration(text)
        except ValueError as error:
            self.fail(f"{text!r} {error}", param, ctx)
        if seconds < self._least:
            self.fail(f"{text!r} is below {units.show_duration(self._least)}", param, ctx)
        return seconds


class Size(click.ParamType[int]):
    """Bytes, written `64MiB`. `least`: not below this."""

    name = "size"

    def __init__(self, *, least: int = 1) -> None:
        self._least = least

    @override
    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Text to bytes."""
        if isinstance(value, int):
            return value
        try:
            size = units.size(str(value))
        except ValueError as error:
            self.fail(f"{str(value)!r} {error}", param, ctx)
        if size < self._least:
            self.fail(f"{str(value)!r} is below {units.show_size(self._least)}", param, ctx)
        return size


class TargetOption(click.ParamType[list[str]]):
    """The location of a cluster; becomes a list of addresses."""

    name = "target"

    @override
    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[str]:
        """Text to addresses."""
        if isinstance(value, list):
            return value
        from cli import targets  # noqa: PLC0415 - knows labs; only a command that runs needs it

        try:
            return targets.resolve(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class _EitherTarget(TargetOption):
    """The target as an argument, or as `--target` in its place; only one of them is looked up.

    The look-up of a lab decides for the whole process whether nodes are dialled over TLS.
    """

    @override
    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[str]:
        """Text to addresses."""
        named: tuple[str, click.Parameter] | None = ctx.meta.get(_NAMED) if ctx else None
        if ctx is None or named is None:
            return super().convert(value, param, ctx)
        assert param is not None
        if ctx.get_parameter_source(str(param.name)) is ParameterSource.COMMANDLINE:
            raise click.UsageError(GIVEN_TWICE)
        return super().convert(named[0], named[1], ctx)


def json_option(command: Callable[P, R]) -> Callable[P, R]:
    """`--json` and `--plain`."""
    wrapped = click.option(
        "--json",
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=_set_json,
        help="Print one JSON document on stdout.",
    )(command)
    return click.option(
        "--plain",
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=_set_plain,
        help="No colours and no frames.",
    )(wrapped)


def timeout_option(
    default: str, of: str = "Time limit."
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """`--timeout`, for the whole command; `of`: what it limits, where it is something else."""
    return click.option(
        "--timeout",
        type=Duration(),
        default=default,
        show_default=True,
        help=of,
    )


def target_argument(command: Callable[P, R]) -> Callable[P, R]:
    """`[TARGET]` as an argument; where other commands want `--target`, that is understood too."""
    wrapped = click.argument(
        "target",
        type=_EitherTarget(),
        default=_default_target,
        envvar="QSYNC_TARGET",
        metavar="[TARGET]",
    )(command)
    return click.option(
        "--target",
        "-t",
        "named",
        metavar="TARGET",
        is_eager=True,
        expose_value=False,
        callback=_keep_named,
        help="The same as TARGET.",
    )(wrapped)


def target_option(command: Callable[P, R]) -> Callable[P, R]:
    """`--target`, where the arguments say something else."""
    return click.option(
        "--target",
        "-t",
        type=TargetOption(),
        default=_default_target,
        envvar="QSYNC_TARGET",
        help="host:port, a comma list, qsync://host1,host2/, a lab's name or a context.",
    )(command)


def dry_run_option(what: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """`--dry-run`. `what`: what it prints instead of a change."""
    return click.option("--dry-run", is_flag=True, help=f"Print {what}, and change nothing.")


def settings_option(
    words: str = "Set an option. Repeatable.", *, name: str = "OPTION"
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """`--set OPTION=VALUE`, which becomes a map."""
    return click.option(
        "--set",
        "settings",
        multiple=True,
        metavar=f"{name}=VALUE",
        callback=lambda _ctx, _param, given: set_options(given),
        help=words,
    )


def cluster_options(timeout: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """`--target`, `--timeout` and `--json`, of a command that asks a cluster."""

    def add(command: Callable[P, R]) -> Callable[P, R]:
        return target_option(timeout_option(timeout)(json_option(command)))

    return add


class ChangeOptions(TypedDict):
    """What `change_options` gives a command."""

    target: list[str]
    dry_run: bool
    timeout: float


class _Option(Protocol):
    """Adds an option to a command."""

    def __call__(self, command: Callable[P, R], /) -> Callable[P, R]:
        """Return the command with it."""


def change_options(timeout: str, *more: _Option) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """`--target`, `--dry-run` in numbers, `more` of its own, `--timeout` and `--json`."""

    def add(command: Callable[P, R]) -> Callable[P, R]:
        command = timeout_option(timeout)(json_option(command))
        for option in reversed(more):
            command = option(command)
        return target_option(dry_run_option("what would happen, in numbers")(command))

    return add


def set_options(settings: tuple[str, ...]) -> dict[str, str]:
    """`OPTION=VALUE` texts as a map. Raises UsageError."""
    pairs = {setting: setting.partition("=") for setting in settings}
    wrong = next((setting for setting, (_, equals, _) in pairs.items() if not equals), None)
    if wrong is not None:
        raise click.UsageError(f"{wrong!r} is not OPTION=VALUE")
    return {key: value for key, _, value in pairs.values()}


def _default_target() -> str:
    from cli import targets  # noqa: PLC0415 - see TargetOption

    return targets.default()


def _keep_named(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Keep what is named for the argument, which alone looks it up."""
    ctx.meta[_NAMED] = None if value is None else (value, param)
    return value


def _style(ctx: click.Context) -> Style:
    found = ctx.find_root().ensure_object(Style)
    assert isinstance(found, Style)
    return found


def _set_json(ctx: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's
    _style(ctx).as_json |= value


def _set_plain(ctx: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's
    _style(ctx).plain |= value


def sources_only(_ctx: click.Context, _param: click.Parameter, mutant: str | None) -> str | None:
    """A mutant replaces methods, which compiled classes do not allow: refused before it runs."""
    if mutant not in {None, "list"} and form() == "compiled":
        raise click.UsageError(
            "a mutant replaces methods, which the compiled form of qsync does not allow; "
            "in a checkout `make pure` goes back to the sources"
        )
    return mutant


def mutant_option(words: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """`--mutant NAME`."""
    return click.option("--mutant", metavar="NAME", help=words, callback=sources_only)
