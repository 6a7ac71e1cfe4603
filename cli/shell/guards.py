"""Verbs that change something, and dangerous verbs that ask for confirmation first."""

from collections.abc import Sequence
from typing import Final

from admin.box.session import Box
from cli.shell.dataverbs import DataVerbs
from qsync.errors import QsyncError

WRITES: Final = frozenset(
    {
        *("insert", "replace", "put", "update", "upsert", "delete", "truncate", "commit"),
        *("create_space", "create_index", "alter", "drop", "drop_index"),
        *("create_sequence", "next_value", "cfg"),
        *("user.create", "user.drop", "user.passwd", "user.grant", "user.revoke"),
        *("role.create", "role.drop", "role.grant", "role.revoke"),
        *("ctl.promote", "ctl.demote", "ctl.clear_synchro_queue", "ctl.rollback_synchro_queue"),
        *("once", "injection.set"),
    }
)
"""Verbs that a read-only shell refuses, and that may have taken effect when interrupted."""

_LEADING: Final = {
    "ctl.promote": "promote",
    "ctl.demote": "demote",
    "ctl.clear_synchro_queue": "clear_synchro_queue",
}


async def consequence(
    box: Box, data: DataVerbs, verb: str, args: Sequence[object]
) -> tuple[str, str] | None:
    """Return the effect of a dangerous verb, and the name to type, if any; else None."""
    if verb in _LEADING:
        from admin.box.why import changes_nothing  # noqa: PLC0415 - slow to import

        answer = await box.why.would(_LEADING[verb])
        return None if changes_nothing(answer.numbers) else (answer.sentence, box.name)
    if verb == "ctl.rollback_synchro_queue":
        pending = await box.info_at("synchro.queue.len")
        return f"{pending} pending transactions of {box.name} would be rolled back.", box.name
    if verb in {"drop", "truncate"}:
        space = await data.space(box, [args[0], 0])
        try:
            count = f"{await space.count()} now"
        except QsyncError:
            count = "count unknown"  # it has no index, or no quorum answers
        what = f"Drops space {space.name} and all its tuples"
        if verb == "truncate":
            what = f"Deletes all tuples of space {space.name}"
        return f"{what} ({count}).", space.name
    if verb == "drop_index":
        space = await data.space(box, args)
        return f"Drops {space!r}; with a primary index also all tuples.", space.name
    return None
