"""What a program gets from `import qsync`: all errors, and the types of what it is given."""

import inspect

import pytest

import qsync
from qsync import errors

ERRORS = sorted(
    name
    for name, value in vars(errors).items()
    if inspect.isclass(value) and issubclass(value, errors.QsyncError)
)


@pytest.mark.parametrize("name", ERRORS)
def test_a_program_can_catch_every_error_by_its_name(name: str) -> None:
    assert getattr(qsync, name) is getattr(errors, name)
    assert name in dir(qsync)


@pytest.mark.parametrize("name", qsync.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert inspect.isclass(getattr(qsync, name)) or callable(getattr(qsync, name))
