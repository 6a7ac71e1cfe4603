"""Who a Spark job is where a cluster wants to know: options of the data source that name files.

Tasks run in processes of their own, on other machines perhaps, with an environment of their own. A
password is no option, since plans show all options: `password_file` names a file, as each of these
does, on the machine where the task runs.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from qsync.client import security

VARIABLES: Final[Mapping[str, str]] = {
    **security.VARIABLES,
    "user": security.USER,
    "password_file": security.PASSWORD_FILE,
}
"""Options, and the variables that they stand for where nodes are dialled."""


def of_options(asked: Mapping[str, str]) -> dict[str, str]:
    """The variables that these options set."""
    return {VARIABLES[name]: value for name, value in asked.items() if name in VARIABLES}


@contextmanager
def environment_with(variables: Mapping[str, str]) -> Iterator[None]:
    """Inside, nodes are dialled so. A worker process may read another cluster behind it."""
    with security.environment_kept(variables):
        os.environ.update(variables)
        yield
