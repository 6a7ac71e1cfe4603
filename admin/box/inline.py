"""Sessions without an event loop, for short commands that should not pay for one.

Every `await` of the facade ends in a question to a node. Here it is asked blocking, so that the
coroutine never waits and `drive` can run it to its end.
"""

from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import ParamSpec, TypeVar

from admin.box.place import NodeConnections, OpenConnection, by_network
from admin.box.session import Box
from qsync.client import targets
from qsync.client.async_.database import AsyncDatabase
from qsync.client.blocking import TIMEOUT_S, Client, connect
from qsync.client.calls import ClientCall
from qsync.client.options import WINDOW
from qsync.client.rows import Receipt

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Inline(AsyncDatabase):
    """A blocking client that can be awaited."""

    def __init__(self, client: Client) -> None:
        super().__init__()
        self.timeout = client.timeout
        self._client = client

    async def run(self, call: ClientCall[T], *, timeout: float | None = None) -> T:  # noqa: ASYNC109 - the caller's word
        """Ask and wait for the answer, blocking."""
        return self._client.run(call, timeout=timeout)

    async def run_many(
        self,
        asked: Iterable[ClientCall[T]],
        *,
        window: int = WINDOW,
        timeout: float | None = None,  # noqa: ASYNC109 - the caller's word
    ) -> list[T]:
        """Send all requests, at most `window` at once; answers in order."""
        return self._client.run_many(asked, window=window, timeout=timeout)

    async def resolve(
        self,
        token: str,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - the caller's word
        again: bool = True,
    ) -> Receipt:
        """Return the outcome of an unknown write, blocking."""
        return self._client.resolve(token, timeout=timeout, again=again)

    def _reader(self) -> "Inline":
        return self


class InlinePool:
    """Blocking connections, closed with the stack."""

    def __init__(self, stack: ExitStack, *, timeout: float) -> None:
        self._stack = stack
        self._timeout = timeout

    async def open(self, addresses: tuple[str, ...], *, direct: bool) -> OpenConnection:
        """Connect. Raises Unavailable or what the handshake refuses."""
        client = connect(addresses, timeout=self._timeout, direct=direct)
        self._stack.callback(client.close)
        return OpenConnection(Inline(client), client.close)

    async def aside(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call a function that blocks, and return its result."""
        return function(*args, **kwargs)


def drive(coroutine: Coroutine[object, object, T]) -> T:
    """Run a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    coroutine.close()
    raise AssertionError("it waits for something that only an event loop can bring")


@contextmanager
def open_inline(
    target: str | Sequence[str], *, node: str | None = None, timeout: float = TIMEOUT_S
) -> Iterator[Box]:
    """Begin a session whose coroutines are run with `drive`. As `open_box` otherwise."""
    addresses = targets.parse(target if isinstance(target, str) else list(target)).addresses
    with ExitStack() as stack:
        pool = InlinePool(stack, timeout=timeout)
        known = drive(by_network(pool, addresses))
        box = Box(NodeConnections(pool, drive(pool.open(known, direct=False))))
        drive(box.use(node))
        yield box
