"""A password that is to be set: from a file, generated, or typed twice at a terminal."""

import secrets
import sys
from pathlib import Path

import click

from cli.exits import NoFile
from qsync.errors import ConfigError

_GENERATED_BYTES = 18
_FILE_BYTES_MAX = 4096


def check_one_source(file: str | None, *, generate: bool, without: bool = False) -> None:
    """Refuse two sources of a password: the one that is ignored would be believed."""
    given = {"--password-file": file is not None, "--generate": generate, "--no-password": without}
    options = [option for option, is_given in given.items() if is_given]
    if len(options) > 1:
        raise click.UsageError(f"{' and '.join(options)} contradict each other: give one of them")


def new_password(name: str, file: str | None, *, generate: bool) -> str:
    """A new password. Raises ConfigError without a terminal."""
    if generate:
        return secrets.token_urlsafe(_GENERATED_BYTES)
    if file == "-":
        return sys.stdin.readline().rstrip("\r\n")
    if file is not None:
        try:
            with Path(file).open("rb") as opened:
                return opened.read(_FILE_BYTES_MAX).decode().strip("\r\n")
        except OSError as error:
            raise NoFile(f"{file}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise NoFile(f"{file}: is no text in UTF-8") from None
    if not sys.stdin.isatty():
        raise ConfigError(
            f"{name} needs a password, and there is no terminal to ask for it",
            hint="--password-file FILE (or -), --generate, or --no-password",
        )
    answer: str = click.prompt(
        f"Password of {name}", hide_input=True, confirmation_prompt=True, err=True
    )
    return answer
