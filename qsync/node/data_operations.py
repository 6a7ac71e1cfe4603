"""Operations that the log itself records, so that the audit trail has no lines of them."""

from collections.abc import Sequence
from typing import Final

from qsync.data.operation_kinds import Op

_RECORDED: Final = frozenset(
    int(each)
    for each in (
        *(Op.INSERT, Op.REPLACE, Op.UPDATE, Op.UPSERT, Op.DELETE, Op.NEXT_VALUE),
        *(Op.REQUIRE_EQUAL, Op.REQUIRE_EXISTENCE, Op.OPEN_SESSION, Op.EXPIRE_SESSION, Op.GIVE_UP),
        *(Op.REGISTER_CONSUMER, Op.ADVANCE_CONSUMER, Op.MOVE_REPLICA),
    )
)


def is_of_data(op: Sequence[object]) -> bool:
    """Whether the log records this operation of a write. Any other one is a line of the trail."""
    code = op[0] if op else None
    return isinstance(code, int) and code in _RECORDED
