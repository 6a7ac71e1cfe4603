"""Groups of errors, in which Trio raises those of its tasks."""

from typing import TypeVar

E = TypeVar("E", bound=Exception)


def first_of(group: "ExceptionGroup[E]", kind: type[E]) -> E:
    """Return the first error, which is of that kind, without the groups that it went through."""
    found: BaseException = group
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    assert isinstance(found, kind)
    return found
