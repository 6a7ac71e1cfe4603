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


def are_of_data(ops: Sequence[Sequence[object]]) -> bool:
    """Whether the log records all these operations of a write."""
    try:
        for op in ops:
            if op[0] not in _RECORDED:
                return False
    except (LookupError, TypeError):
        return False  # it is no operation
    return True


def is_of_data(op: Sequence[object]) -> bool:
    """Whether the log records this operation. Any other one is a line of the trail."""
    return are_of_data((op,))
