"""Credentials of a Spark job for clusters with users: options that name files.

Tasks run in processes of their own, on other machines perhaps, with an environment of their own. A
password is no option, since plans show all options: `password_file` names a file, as each of these
does, on the machine where the task runs.
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
"""Options, and the variables that they stand for where nodes are dialled."""


_FILES: Final = frozenset({"ca", "certificate", "key", "password_file"})


def of_options(asked: Mapping[str, str]) -> dict[str, str]:
    """The variables that these options set."""
    return {VARIABLES[name]: value for name, value in asked.items() if name in VARIABLES}


def of_environment() -> dict[str, str]:
    """Options by which tasks dial as this process does; a password itself is none of them.

    Workers may have been started before this process knew how to dial.
    """
    found = {name: os.environ.get(variable, "") for name, variable in VARIABLES.items()}
    return {
        name: str(Path(value).absolute()) if name in _FILES else value
        for name, value in found.items()
        if value
    }


@contextmanager
def environment_with(variables: Mapping[str, str]) -> Iterator[None]:
    """Inside, nodes are dialled so. A worker process may read another cluster behind it."""
    with security.environment_kept(variables):
        os.environ.update(variables)
        yield
