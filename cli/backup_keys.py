"""Keys of places of backups: the options for them, and the commands that make them."""

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from cli.examples import examples
from cli.options import FILE_PATH
from cli.output import say
from qsync.errors import ConfigError

if TYPE_CHECKING:
    from admin.backup.catalogue import Catalogue
    from admin.backup.places import BackupPlace

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class KeyOptions:
    """The options for the key; the environment is the default."""

    file: Path | None
    asks: bool


def key_options(command: Callable[..., R]) -> Callable[..., R]:
    """`--key-file` and `--ask-key`, which become the argument `key`."""

    @functools.wraps(command)
    def with_key(*, key_file: Path | None, ask_key: bool, **others: object) -> R:
        return command(key=KeyOptions(key_file, ask_key), **others)

    asks = click.option(
        "--ask-key", is_flag=True, help="Ask for the key of a sealed place on the terminal."
    )
    names = click.option(
        "--key-file",
        type=FILE_PATH,
        metavar="FILE",
        help="The key of a sealed place, or its sealing key; else QSYNC_BACKUP_KEY or "
        "QSYNC_BACKUP_KEY_FILE.",
    )
    return names(asks(with_key))


def open_place(url: str, said: KeyOptions, *, begins: bool = False) -> "BackupPlace":
    """The place, sealed if there is a key. `begins`: a key that is typed may be a new one.

    Raises ConfigError.
    """
    from admin.backup import keys, places  # noqa: PLC0415 - only for backups
    from admin.backup.sealing import SealedPlace  # noqa: PLC0415 - the same

    if said.file is not None and said.asks:
        raise click.UsageError("--key-file and --ask-key name two keys")
    if said.file is not None:
        secret: str | None = keys.key_in(said.file)
    elif said.asks:
        secret = _asked(url, twice=begins)
    else:
        secret = keys.of_environment()
    place = places.open_place(url)
    return place if secret is None else SealedPlace(place, secret)


def load(url: str, said: KeyOptions) -> "Catalogue":
    """The backups there. Raises NoBackup, BackupKeyRefused and the errors of reading."""
    from admin.backup import catalogue  # noqa: PLC0415 - only for backups

    return catalogue.load(open_place(url, said))


@click.command(
    "key", epilog=examples("# keep a copy of it elsewhere", "qsync backup key backup.key")
)
@click.argument("file", type=FILE_PATH)
def make_key(*, file: Path) -> None:
    """Create a key to seal backups with; without the key they cannot be read.

    `--key-file FILE` of the other commands reads it, and so does QSYNC_BACKUP_KEY_FILE. Keep a copy
    where neither the cluster nor its backups are.
    """
    from admin.backup import keys  # noqa: PLC0415 - only for backups

    keys.make_key(file)
    say(f"wrote {file}: keep a copy of it where neither the cluster nor its backups are")


@click.command("sealing-key", epilog="Example: qsync backup sealing-key backup.key backup.seal")
@click.argument("key", type=FILE_PATH)
@click.argument("file", type=FILE_PATH)
def make_sealing_key(*, key: Path, file: Path) -> None:
    """Create a key that seals backups but cannot open them, for the machines that make them.

    With FILE a machine can begin a place, and make, list and prune backups there. Verifying and
    restoring need KEY, which that machine should not have. `qsync backup key` creates KEY.
    """
    from admin.backup import keys  # noqa: PLC0415 - only for backups

    keys.make_sealing_key(keys.key_in(key), file)
    say(f"wrote {file}: what is sealed with it opens with {key} alone")


def _asked(url: str, *, twice: bool) -> str:
    if not sys.stdin.isatty():
        raise ConfigError(
            f"the key of {url} cannot be asked for: this is no terminal",
            hint="--key-file FILE, or QSYNC_BACKUP_KEY_FILE",
        )
    found: str = click.prompt(f"Key of {url}", hide_input=True, confirmation_prompt=twice, err=True)
    return found
