"""A node inside a Trio program of your own, without a process of its own."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import TracebackType
from typing import Self

from qsync.config import NodeConfig
from qsync.node.assembly import WhoseFiles, found_cluster
from qsync.node.node import Node, open_node
from qsync.store.directory import is_formatted


class EmbeddedNode:
    """`async with qsync.Node("node.yaml") as node: ...` runs one while the block runs.

    It shares the loop with your tasks: what keeps the loop busy keeps the node from answering,
    and a node that is silent for the election timeout is replaced. Connect to `node.address`.
    Entering raises StoreError (locked, foreign, full, damaged...), or ConfigError, also for an
    address in use.
    """

    def __init__(
        self, config: NodeConfig | Path | str, *, found: bool = False, moved: bool = False
    ) -> None:
        """`config`: a configuration, or the path of its file.

        With `found` an empty directory becomes the first one of a new cluster, of this node alone.
        With `moved` a directory that was copied here is opened, as by `qsync start --moved`:
        nothing ran on the original since. Without it entering raises DirectoryCopied.
        """
        self.config = config if isinstance(config, NodeConfig) else NodeConfig.load(Path(config))
        self._found = found
        self._files = WhoseFiles.MOVED if moved else WhoseFiles.UNSAID
        self._opening: AbstractAsyncContextManager[Node] | None = None
        self._node: Node | None = None

    async def __aenter__(self) -> Self:
        """Open the directory, listens and serve."""
        if self._found and not is_formatted(Path(self.config.node.dir)):
            found_cluster([self.config])
        opening = open_node(self.config, files=self._files)
        self._node = await opening.__aenter__()
        self._opening = opening
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stops, folds what is decided, and releases the directory."""
        assert self._opening is not None
        opening, self._opening, self._node = self._opening, None, None
        # The block's own error goes on as it is, instead of inside the group of the node's tasks.
        await opening.__aexit__(None, None, None)

    @property
    def address(self) -> str:
        """The address it listens on, `host:port`; for port 0 the port that the system chose."""
        return self._running.address

    @property
    def peers(self) -> Sequence[str]:
        """The addresses of all members, this one included."""
        return [str(peer.address) for peer in self._running.book.members]

    @property
    def leads(self) -> bool:
        """Whether it leads, and so takes writes now."""
        return not self._running.replica.machine.reasons()

    @property
    def _running(self) -> Node:
        if self._node is None:
            raise RuntimeError("the node runs only inside its `async with` block")
        return self._node
