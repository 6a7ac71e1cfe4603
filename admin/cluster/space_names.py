"""The names of spaces by id, as a node has them at this moment: a log only has ids."""

from contextlib import closing
from pathlib import Path

from qsync.client.one_node import NodeConnection
from qsync.errors import ProtocolError
from qsync.wire import replies
from qsync.wire.verbs import PlainRequest, Verb


def of_node(line: NodeConnection) -> dict[int, str]:
    """The spaces of a running node that its user may know of."""
    found: dict[int, str] = {}
    for name, described in replies.read_map(line.ask(PlainRequest(1, Verb.SCHEMA))).items():
        match described:
            case {"id": int(id)}:
                found[id] = name
            case _:
                raise ProtocolError(f"the answer to SCHEMA says of {name!r} no id")
    return found


def of_directory(data: Path) -> dict[int, str]:
    """The spaces on a stopped node's disk; none if its rows will be rebuilt.

    Its caller holds the lock of the directory. Raises StoreError.
    """
    # LMDB is slow to import and most commands do without.
    from qsync.data import schema  # noqa: PLC0415 - with it
    from qsync.store.mark import is_trusted  # noqa: PLC0415 - with it
    from qsync.store.spaces import SpaceStore  # noqa: PLC0415 - with it

    if not is_trusted(data):
        return {}
    with closing(SpaceStore(data, repair=False)) as spaces:
        return {each.id: each.name for each in schema.load(spaces.scan).spaces}
