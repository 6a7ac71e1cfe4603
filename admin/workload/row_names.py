"""What a client knows of the spaces that it writes to: enough to name rows as logs do."""

from admin.evidence import opening
from qsync.client.blocking import Client
from qsync.errors import QsyncError


class SpaceIds:
    """Ids by name, asked for once."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}

    def hash_of(self, client: Client, row: tuple[str, int] | None) -> int | None:
        """What stands for a row, by its space and the number that is its key; None if unknown."""
        if row is None:
            return None
        if not self._ids:
            try:
                self._ids = ids(client.schema.spaces())
            except QsyncError:
                return None  # nobody answers; a later row may be known
        space = self._ids.get(row[0])
        return None if space is None else opening.number_hash(space, row[1])


def ids(spaces: dict[str, object]) -> dict[str, int]:
    """From what the schema says."""
    known = {name: each.get("id") for name, each in spaces.items() if isinstance(each, dict)}
    return {name: id_ for name, id_ in known.items() if isinstance(id_, int)}
