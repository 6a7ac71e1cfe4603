"""Credentials of a Spark job for clusters with users: options that name files.

Tasks run in other processes, perhaps on other machines, with their own environment. A password is
not an option, because plans show all options: `password_file`, like the other options, names a file
on the machine where the task runs.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from qsync.client import security

VARIABLES: Final[Mapping[str, str]] = {
    **security.VARIABLES,
    "user": security.USER,
    "password_file": security.PASSWORD_FILE,
}
"""Options, and the environment variables that they replace when nodes are dialled."""


_FILES: Final = frozenset({"ca", "certificate", "key", "password_file"})


def of_options(asked: Mapping[str, str]) -> dict[str, str]:
    """The environment variables that these options set."""
    return {VARIABLES[name]: value for name, value in asked.items() if name in VARIABLES}


def of_environment() -> dict[str, str]:
    """Options that let tasks dial as this process does, without the password itself.

    They are needed because workers may have started before this process had its settings.
    """
    found = {name: os.environ.get(variable, "") for name, variable in VARIABLES.items()}
    return {
        name: str(Path(value).absolute()) if name in _FILES else value
        for name, value in found.items()
        if value
    }


@contextmanager
def environment_with(variables: Mapping[str, str]) -> Iterator[None]:
    """Dial nodes with these credentials inside. A worker process may read another cluster later."""
    with security.environment_kept(variables):
        os.environ.update(variables)
        yield
