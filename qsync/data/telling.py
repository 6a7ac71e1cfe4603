"""What the words of a refusal tell of rows and names, and whom: by the rights of who asks."""

from collections.abc import Sequence
from typing import Final

from qsync.data.operation_kinds import Op
from qsync.data.schema import Schema
from qsync.error_details import RECORDED
from qsync.errors import (
    AccessDenied,
    DuplicateKey,
    GivenUp,
    QsyncError,
    WrongSchema,
    WrongTuple,
    error_of,
)
from qsync.rights import Need, Privilege

_OVER_ROWS: Final = frozenset({int(Op.UPSERT), int(Op.CREATE_INDEX), int(Op.ALTER_SPACE)})
"""Operations that are refused for rows that are there, and take no right to read them."""
_SHOW_VALUES: Final = (DuplicateKey, WrongSchema, WrongTuple)
"""Refusals that show values of a tuple; then `space` is in their details."""


def of_operations(
    error: QsyncError, user: str | None, ops: Sequence[Sequence[object]], shape: Schema
) -> QsyncError:
    """Return the refusal of operations, or of a preview of them, as who asks may see it.

    Other operations take the right to read, or are refused for what the asker sent himself.
    """
    rights = shape.rights
    if rights is None or user is None or not isinstance(error, _SHOW_VALUES):
        return error
    space = error.details.get("space")
    if not isinstance(space, str) or not any(map(_is_over_rows, ops)):
        return error
    if rights.missing(user, [Need(Privilege.READ, space)], shape.name_of) is None:
        return error
    index = error.details.get("index")
    where = f'space "{space}"' if index is None else f'space "{space}", index "{index}"'
    why = "another tuple has the same key"
    if not isinstance(error, DuplicateKey):
        why = "a tuple that is there would not fit"
    return type(error)(
        f"{where}: {why}", hint="who may read the space is shown which", details=error.details
    )


def _is_over_rows(op: Sequence[object]) -> bool:
    return bool(op) and isinstance(op[0], int) and op[0] in _OVER_ROWS


def of_record(error: QsyncError, user: str | None, shape: Schema) -> QsyncError:
    """Return a recorded refusal as a user may see it who has its token: perhaps not its author.

    Who may read or write the space that it is about may, as its author could.
    """
    rights = shape.rights
    if rights is None or user is None or isinstance(error, GivenUp):
        return error
    if isinstance(error, AccessDenied) and error.details.get("user") == user:
        return error
    space = error.details.get("space")
    about = space if isinstance(space, str) else None
    for each in (Privilege.READ, Privilege.WRITE):
        if rights.missing(user, [Need(each, about)], shape.name_of) is None:
            return error
    return error_of(
        error.number,
        "the request was refused; why exactly is told who may read or write what it was about",
        details={RECORDED: True},
    )
