"""Who may change a consumer of the log: its owner, and who has the right `member`.

The row names the owner, so this is judged where the row is: where a transaction is executed, by the
rows as they were before it.
"""

from collections.abc import Sequence
from typing import Final

from qsync.consumer import CONSUMERS_MAX, Consumer
from qsync.data import consumers
from qsync.data.draft import Readable
from qsync.data.grants import denied
from qsync.data.operation_kinds import Op
from qsync.data.request import too_large
from qsync.data.schema import Schema
from qsync.errors import AccessDenied
from qsync.rights import Need, Privilege

Operation = Sequence[object]
_READ, _MEMBER = Need(Privilege.READ), Need(Privilege.MEMBER)
_OF_READERS: Final = frozenset({int(Op.REGISTER_CONSUMER), int(Op.ADVANCE_CONSUMER)})
_OF_OWNERS: Final = _OF_READERS | {int(Op.LET_GO_CONSUMER), int(Op.DROP_CONSUMER)}


def is_of_owner(op: Operation) -> bool:
    """Return whether what an operation takes depends on whom a consumer belongs to."""
    return bool(op) and isinstance(op[0], int) and op[0] in _OF_OWNERS


def check(user: str, ops: Sequence[Operation], shape: Schema, view: Readable) -> None:
    """Raises AccessDenied unless the user may do that to consumers, by the rows of `view`.

    Raises TooLarge for more changes of them than there can be consumers: each looks at a row.
    Raises Overloaded if the user would have too many.
    """
    owned = [op for op in ops if is_of_owner(op)]
    if len(owned) > CONSUMERS_MAX:
        what = "changes of consumers of the log"
        raise too_large("a transaction", "CONSUMERS_MAX", CONSUMERS_MAX, len(owned), what)
    for op in owned:
        _check_one(user, op, shape, view)
    names = [op[1] for op in owned if op[0] == Op.REGISTER_CONSUMER and len(op) > 1]
    new = {name for name in names if isinstance(name, str) and consumers.find(view, name) is None}
    if new:
        consumers.check_share(view, user, len(new))


def _check_one(user: str, op: Operation, shape: Schema, view: Readable) -> None:
    rights = shape.rights
    assert rights is not None
    there = consumers.find(view, op[1] if len(op) > 1 else None)
    missing = [rights.missing(user, needs, shape.name_of) for needs in _ways(user, op[0], there)]
    if None in missing:
        return
    need = missing[-1]
    assert need is not None
    error = denied(user, need)
    if need == _MEMBER and there is not None and there.owner not in ("", user):
        raise _of_another(there, error)
    raise error


def _ways(user: str, op: object, there: Consumer | None) -> list[list[Need]]:
    """Return the rights that suffice, those of one list. What the last one lacks is told."""
    owner = "" if there is None else there.owner
    if op in _OF_READERS:
        return [[_READ] if owner in ("", user) else [_READ, _MEMBER]]
    is_nothing = there is None and op == Op.DROP_CONSUMER
    return [[_MEMBER], [_READ]] if owner == user or is_nothing else [[_MEMBER]]


def _of_another(there: Consumer, error: AccessDenied) -> AccessDenied:
    return AccessDenied(
        f'consumer "{there.name}" belongs to user {there.owner!r}, and {error.message}',
        hint="only its owner, and who has the right `member`, may change it",
        details={**error.details, "consumer": there.name, "owner": there.owner},
    )
