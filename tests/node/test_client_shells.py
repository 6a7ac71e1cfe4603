"""The blocking and the async client over real sockets, against a tiny server of the wire."""

import os
import selectors
import socket
import threading
import time
import warnings
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import NamedTuple

import anyio
import cbor2
import pytest
import trio

import qsync
from election.messages import Index, Position, Replica, Term
from qsync.client import load, operations
from qsync.client.pump import SYSTEM
from qsync.client.transaction import Transaction
from qsync.error_details import RECORDED
from qsync.errors import (
    Conflict,
    DuplicateKey,
    GivenUp,
    NoSuchSpace,
    NotLeader,
    Outcome,
    OutcomeUnknown,
    Overloaded,
    QsyncError,
    Unavailable,
    WrongTuple,
)
from qsync.wire import replies, requests
from qsync.wire.connection_states import ConnectionState
from qsync.wire.frames import Frames
from qsync.wire.session import Acceptor, Greeting
from qsync.wire.verbs import (
    CountRequest,
    GetRequest,
    PlainRequest,
    PromoteRequest,
    Request,
    SelectRequest,
    TxGetRequest,
    Verb,
    WriteRequest,
)


class Store:
    """Rows of all spaces, by first field; and which numbers of which session were done."""

    def __init__(self) -> None:
        self.rows: dict[object, bytes] = {}
        self.done: dict[tuple[bytes, int], int] = {}
        self.index = 0
        self.sessions: list[bytes] = []
        self.given_up: set[tuple[bytes, int]] = set()
        self.times_applied = 0
        self.late: list[WriteRequest] | None = None
        """A list: numbered writes are on their way for as long as one likes, and go there."""

    def write(self, write: WriteRequest) -> tuple[int, list[bytes | None], bool]:
        if (write.session, write.seq) in self.given_up:
            raise GivenUp("it was not done", details={RECORDED: True})
        known = self.done.get((write.session, write.seq)) if write.session else None
        if known is not None:
            return known, [None], True
        if write.ops == [[32]]:
            self.given_up.add((write.session, write.seq))
            return self.write(write)
        results = [self._apply(op) for op in write.ops]
        self.index += 1
        self.times_applied += 1
        self.done[write.session, write.seq] = self.index
        return self.index, results, False

    def _apply(self, op: list[object]) -> bytes | None:
        match op:
            case [1 | 2, "nowhere", _]:
                raise NoSuchSpace("there is no space nowhere")
            case [(1 | 2) as code, _, bytes(row)]:
                key = cbor2.loads(row)[0]
                if code == 1 and key in self.rows:
                    raise DuplicateKey(f"{key} is taken")
                self.rows[key] = row
                return row
            case [3, _, _, [key], [["+", int(field), int(by)]]] if key in self.rows:
                fields = cbor2.loads(self.rows[key])
                fields[field - 1] += by
                self.rows[key] = cbor2.dumps(fields)
                return self.rows[key]
            case [5, _, _, [key]]:
                return self.rows.pop(key, None)
            case [20, _, _, [key], wanted]:
                if self.rows.get(key) != wanted:
                    raise Conflict(f"{key} is not what was required")
                return None
            case [30, bytes(seed)]:
                self.sessions.append(seed + self.index.to_bytes(16, "big"))
                return cbor2.dumps([self.sessions[-1]])
            case [31, bytes(session)]:
                self.sessions.remove(session)
                return None
            case _:
                return None


class Server:
    """One node: a thread, a selector, no consensus. `leader`: the address it sends clients to."""

    def __init__(self, store: Store, *, replica: int = 1, leader: str | None = None) -> None:
        self.store = store
        self.replica = replica
        self.leader = leader
        self.heard: list[Request] = []
        self.swallow_writes = 0
        """So many writes are done, but their connection ends before the answer."""
        self.too_busy = 0
        """So many writes are refused, to be asked again in a moment."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._stopping = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        self._selector.register(self._stopping[1], selectors.EVENT_READ, "stop")
        self._clients: list[socket.socket] = []
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def stop(self) -> None:
        self._stopping[0].send(b"x")
        self._thread.join()
        for each in (self._listener, self._stopping[0], self._stopping[1], *self._clients):
            each.close()
        self._selector.close()

    def _serve(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.data == "stop":
                    return
                if key.data is None:
                    self._welcome()
                else:
                    self._read(key.data)

    def _welcome(self) -> None:
        made, _ = self._listener.accept()
        greeting = Greeting(
            cluster="c",
            instance=f"i{self.replica}",
            replica=Replica(self.replica),
            name="n",
        )
        talk = Talk(made, Acceptor(greeting))
        self._clients.append(made)
        self._selector.register(made, selectors.EVENT_READ, talk)
        made.sendall(talk.acceptor.greet())

    def _read(self, talk: "Talk") -> None:
        try:
            data = talk.socket.recv(65536)
        except ConnectionError:
            data = b""
        if not data:
            self._hang_up(talk)
            return
        out = []
        for payload in talk.frames.feed(data):
            if talk.acceptor.state is not ConnectionState.READY:
                talk.acceptor.received(payload)
                out.append(talk.acceptor.accept())
                continue
            request = requests.decode(payload)
            self.heard.append(request)
            if (
                self.store.late is not None
                and isinstance(request, WriteRequest)
                and request.session
            ):
                self.store.late.append(request)
                continue
            answer = self._answer(request)
            if answer is None:
                self._hang_up(talk)
                return
            out.append(answer)
        talk.socket.sendall(b"".join(out))

    def _hang_up(self, talk: "Talk") -> None:
        self._selector.unregister(talk.socket)
        talk.socket.close()

    def _answer(self, request: Request) -> bytes | None:
        try:
            return self._reply(request)
        except QsyncError as error:
            return replies.failed(request.id, error)

    def _written(self, request: WriteRequest) -> bytes | None:
        if self.leader:
            raise NotLeader("another node leads", leader=self.leader)
        if self.too_busy and request.session:
            self.too_busy -= 1
            raise Overloaded("too much is under way", details={"retry_after": 0.001})
        index, results, again = self.store.write(request)
        if self.swallow_writes and request.session:
            self.swallow_writes -= 1
            return None
        return replies.committed(
            *(request.id,),
            term=1,
            index=index,
            lsn=index,
            acks=2,
            results=results,
            duplicate=again,
        )

    def _reply(self, request: Request) -> bytes | None:
        rows = self.store.rows
        seen = Position(Term(1), Index(self.store.index))
        match request:
            case WriteRequest():
                return self._written(request)
            case GetRequest(id, _, _, [key], _) | TxGetRequest(id, _, _, _, [key], _):
                return replies.row(id, rows.get(key), read_from=seen)
            case SelectRequest():
                found = [rows[key] for key in sorted(rows, key=str)][: request.limit]
                return replies.rows(request.id, found, read_from=seen)
            case CountRequest():
                return replies.counted(request.id, len(rows), read_from=seen)
            case PlainRequest(id, Verb.STATUS):
                nodes = [[self.replica, "n", self.address]]
                return replies.reply(id, {"nodes": nodes, "leader": None, "name": "n"})
            case PlainRequest(id, Verb.SCHEMA):
                return replies.reply(id, {"s": {"id": 512}})
            case PromoteRequest(id, _):
                return replies.reply(id)
            case _:
                return replies.reply(request.id)


class Talk:
    """One client of a server."""

    def __init__(self, made: socket.socket, acceptor: Acceptor) -> None:
        self.socket = made
        self.acceptor = acceptor
        self.frames = Frames()


@contextmanager
def serving(count: int = 1) -> Iterator[list[Server]]:
    """Nodes over one store; all but the last point at the last, which leads."""
    store = Store()
    servers = [Server(store, replica=count)]
    for replica in range(1, count):
        servers.insert(-1, Server(store, replica=replica, leader=servers[-1].address))
    try:
        yield servers
    finally:
        for server in servers:
            server.stop()


# -- blocking


def test_a_blocking_client_does_it_all() -> None:
    with serving() as (server,), qsync.connect(server.address) as db:
        db.schema.create_space("s", is_sync=True, format=[("id", "unsigned"), ("n", "integer")])
        space = db.space("s")
        receipt = space.replace([1, 10])
        assert (receipt.term, receipt.acks, receipt.duplicate) == (1, 2, False)
        assert receipt.seconds > 0
        assert space.update(1, [("+", 2, 5)]).row == [1, 15]
        assert space.get(1) == [1, 15]
        assert space.get(1, at_least=receipt) == [1, 15]
        assert space.get(2, consistency="local") is None
        with pytest.raises(DuplicateKey):
            space.insert([1, 0])
        space.insert([2, 0])
        assert space.select() == [[1, 15], [2, 0]]
        assert space.select(limit=1, iterator="ge") == [[1, 15]]
        assert space.count() == len(space) == 2
        assert space.delete(2).row == [2, 0]
        assert db.schema.spaces() == {"s": {"id": 512}}
        assert db.status()["name"] == "n"
        db.promote()


def test_the_session_is_opened_once_and_expired_at_the_end() -> None:
    with serving() as (server,):
        with qsync.connect(server.address) as db:
            db.space("s").replace([1])
            db.space("s").replace([2])
            assert len(server.store.sessions) == 1
        with qsync.connect(server.address, direct=True) as probe:
            probe.ping()
        assert server.store.sessions == []


def test_a_client_of_a_follower_finds_the_leader() -> None:
    with serving(2) as (follower, leader), qsync.connect(follower.address) as db:
        db.space("s").replace([1])
        assert leader.store.rows.keys() == {1}


def test_a_write_whose_connection_ended_is_done_once() -> None:
    with serving() as (server,), qsync.connect(server.address) as db:
        db.space("s").replace([1, 0])
        before = server.store.times_applied
        server.swallow_writes = 2
        receipt = db.space("s").update(1, [("+", 2, 1)])
        assert receipt.duplicate
        assert db.space("s").get(1) == [1, 1]
        assert server.store.times_applied == before + 1


def test_an_unknown_outcome_is_resolved_by_its_token() -> None:
    with serving() as (server,), qsync.connect(server.address) as db:
        db.space("s").replace([1, 0])
        server.swallow_writes = 10_000
        with pytest.raises(OutcomeUnknown) as caught:
            db.space("s").update(1, [("+", 2, 1)], timeout=0.05)
        server.swallow_writes = 0
        assert db.resolve(caught.value.token).duplicate
        with qsync.connect(server.address) as other:
            again = other.space("s").update(1, [("+", 2, 1)], token=caught.value.token)
            assert again.duplicate
            assert other.resolve(caught.value.token).duplicate
        assert db.space("s").get(1) == [1, 1]


def test_a_write_that_nobody_did_is_given_up_by_who_has_only_its_token() -> None:
    with serving() as (server,), qsync.connect(server.address) as db:
        db.space("s").replace([1, 0])
        late = server.store.late = []
        with pytest.raises(OutcomeUnknown) as caught:
            db.space("s").update(1, [("+", 2, 1)], timeout=0.05)
        token, server.store.late = caught.value.token, None
        with qsync.connect(server.address) as other, pytest.raises(GivenUp) as gone:
            other.resolve(token)
        assert gone.value.outcome is Outcome.ROLLED_BACK
        with pytest.raises(GivenUp):
            server.store.write(late[0])  # it arrives after all
        with pytest.raises(GivenUp):
            db.resolve(token)
        assert db.space("s").get(1) == [1, 0]


def test_a_token_is_not_told_as_refused_while_its_first_attempt_is_on_its_way() -> None:
    with serving() as (server,), qsync.connect(server.address) as db:
        db.space("s").insert([1, "somebody else's"])
        late = server.store.late = []
        with pytest.raises(OutcomeUnknown) as caught:
            db.space("s").insert([1, "mine"], timeout=0.05)
        token, server.store.late = caught.value.token, None
        with qsync.connect(server.address) as other:
            with pytest.raises(OutcomeUnknown) as again:
                other.space("s").insert([1, "mine"], token=token)
            assert again.value.token == token
            assert "DUPLICATE_KEY" in str(again.value)
            other.space("s").delete(1)
            server.store.write(late[0])  # it arrives after all
            assert other.space("s").get(1) == [1, "mine"]
            assert other.space("s").insert([1, "mine"], token=token).duplicate


def test_a_token_is_unknown_where_nobody_leads() -> None:
    with serving(2) as (follower, leader), qsync.connect(leader.address) as db:
        db.space("s").replace([1, 0])
        leader.store.late = []
        with pytest.raises(OutcomeUnknown) as caught:
            db.space("s").update(1, [("+", 2, 1)], timeout=0.05)
        token, leader.store.late = caught.value.token, None
        with qsync.connect(follower.address) as other:
            leader.leader = follower.address  # both say it is the other
            with pytest.raises(OutcomeUnknown) as again:
                other.space("s").update(1, [("+", 2, 1)], token=token, timeout=0.2)
        assert again.value.token == token


def test_many_writes_go_out_before_the_first_answer_is_awaited() -> None:
    with serving() as (server,), qsync.connect(server.address) as db:
        receipts = db.space("s").replace_many(([n, "x"] for n in range(2000)), window=100)
        assert len({receipt.index for receipt in receipts}) == 2000
        with db.pipeline(window=10) as pipe:
            space = pipe.space("s")
            written = [space.replace([n, "y"]) for n in range(50)]
            refused = space.insert([0, "z"])
            read = space.get(1999)
        assert all(pending.settled for pending in written)
        assert written[0].result().index == 2002
        assert read.result() == [1999, "x"]
        with pytest.raises(DuplicateKey):
            refused.result()


def test_an_error_among_many_is_raised_after_all_are_settled() -> None:
    with serving() as (server,), qsync.connect(server.address) as db:
        db.space("s").replace([0])
        with pytest.raises(NoSuchSpace):
            db.space("nowhere").replace_many([[n] for n in range(10)])
        db.space("s").replace([1])
        assert db.space("s").count() == 2


def test_a_transaction_commits_on_exit_and_drops_everything_on_an_exception() -> None:
    with serving() as (server,), qsync.connect(server.address) as db:
        with db.transaction(is_sync=True) as tx:
            tx.space("s").insert([1, 1])
            tx.space("s").insert([2, 2])
            assert tx.space("s").get(1) is None
        assert tx.receipt is not None
        (write,) = [r for r in server.heard if isinstance(r, WriteRequest) and len(r.ops) == 2]
        assert write.flags == 1
        assert write.reads == [["p", 0, 1], ["k", "s", 0, [1]]]
        with pytest.raises(KeyError), db.transaction() as tx:  # noqa: PT012 - the block is the point
            tx.space("s").delete(1)
            raise KeyError
        assert db.space("s").count() == 2
        with pytest.raises(Conflict), db.transaction() as tx:  # noqa: PT012 - the block is the point
            tx.space("s").require(1, [1, 7])
            tx.space("s").delete(1)


def test_atomic_tries_again_after_a_conflict() -> None:
    tried = []

    def change(tx: Transaction) -> int:
        tried.append(tx)
        tx.space("s").require(1, [1, 0] if len(tried) < 3 else [1, 5])
        tx.space("s").replace([1, 6])
        return len(tried)

    with serving() as (server,), qsync.connect(server.address) as db:
        db.space("s").replace([1, 5])
        assert db.atomic(change) == 3
        assert db.space("s").get(1) == [1, 6]


def test_atomic_does_not_repeat_what_the_function_has_committed_itself() -> None:
    """The rest of the function is refused; that must not run the committed part again."""

    def change(tx: Transaction) -> None:
        tx.space("s").replace([1, 5])
        tx.commit()
        tx.space("s").replace([2, 5])

    def change_and_raise(tx: Transaction) -> None:
        tx.space("s").replace([1, 5])
        tx.commit()
        raise Conflict("something else")

    with serving() as (server,), qsync.connect(server.address) as db:
        db.space("s").replace([1, 4])
        before = server.store.times_applied
        with pytest.raises(qsync.NoTransaction) as caught:
            db.atomic(change)
        assert caught.value.outcome is Outcome.COMMITTED
        with pytest.raises(Conflict):
            db.atomic(change_and_raise)
        assert server.store.times_applied - before == 2


def test_nobody_there_is_unavailable_within_the_time_given_to_connect() -> None:
    with serving() as (server,):
        address = server.address
    with pytest.raises(Unavailable, match=address):
        qsync.connect(address, connect_timeout=0.05)
    with pytest.raises(Unavailable):
        qsync.connect(address, direct=True)


def test_a_large_request_and_a_large_answer_pass() -> None:
    with serving() as (server,), qsync.connect(server.address) as db:
        row = [1, b"x" * 8_000_000]
        db.space("s").replace(row)
        assert db.space("s").get(1) == row


def test_threads_may_share_a_client() -> None:
    with serving() as (server,), qsync.connect(server.address) as db:

        def work(base: int) -> None:
            for n in range(50):
                db.space("s").replace([base + n])

        threads = [threading.Thread(target=work, args=(base,)) for base in (0, 100, 200)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert db.space("s").count() == 150


def wait_for(condition: Callable[[], object]) -> None:
    limit = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < limit


def test_what_waits_when_a_blocking_client_is_closed_is_unknown_at_once() -> None:
    with serving() as (server,):
        with qsync.connect(server.address) as db:
            db.space("s").replace([1])
            server.store.late = []
            pending = db.pipeline().space("s").replace([2])
            wait_for(lambda: server.store.late)
        with pytest.raises(OutcomeUnknown) as caught:
            pending.result()
        server.store.late = None
        with qsync.connect(server.address) as other, pytest.raises(GivenUp):
            other.resolve(caught.value.token)


def test_a_feed_ends_with_the_client_that_it_was_made_by() -> None:
    """It has a connection of its own; a thread that reads it waited for ever."""
    with serving() as (server,):
        with qsync.connect(server.address) as db:
            feed, values = db.watch("s", after=1), db.watch_key("box.status")
        for each in (feed, values):
            with pytest.raises(qsync.ClientClosed):
                next(each)
        with pytest.raises(qsync.ClientClosed):
            db.watch("s", after=1)


def test_a_pipeline_has_a_window_of_one_at_least() -> None:
    with serving() as (server,), qsync.connect(server.address) as db:
        with db.pipeline(window=-1) as pipe:
            answers = [pipe.space("s").replace([number]) for number in range(3)]
        assert all(each.settled for each in answers)


def test_an_answer_to_come_is_asked_for_at_once() -> None:
    with serving() as (server,), qsync.connect(server.address) as db:
        db.space("s").replace([1])
        pending = db.pipeline().space("s").replace([2])
        wait_for(lambda: 2 in server.store.rows)
        assert pending.result().index == server.store.index


class LateLook:
    """The system of a client whose program did something else for a minute."""

    socket, poll, resolved = SYSTEM.socket, SYSTEM.poll, SYSTEM.resolved

    def now(self) -> float:
        return time.monotonic() + 60.0


def test_an_answer_that_has_come_is_not_late_when_it_is_looked_at() -> None:
    with serving() as (server,), qsync.connect(server.address) as db:
        db.space("s").replace([1, 0])
        space = db.pipeline().space("s")
        written = [space.replace([n, "x" * 10_000]) for n in range(20)]
        wait_for(lambda: 19 in server.store.rows)
        with qsync.connect(server.address, direct=True) as other:
            other.ping()  # the server has said all to the first client before it says this
        db._pump._system = LateLook()
        assert [each.result().duplicate for each in written] == [False] * 20


class Clock:
    """The clock of a client, which its program puts on."""

    def __init__(self) -> None:
        self.time = 1000.0

    def monotonic(self) -> float:
        return self.time


@pytest.mark.pure
@pytest.mark.parametrize("window", [1, 7, 100])
def test_a_source_of_rows_may_take_longer_than_a_write(
    window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr("qsync.client.sync.core_client.time", clock)
    monkeypatch.setattr("qsync.client.pump.SYSTEM.now", clock.monotonic)

    def rows() -> Iterator[list[object]]:
        for n in range(20):
            other.ping()
            other.ping()  # the server has answered what was sent to it before the first
            clock.time += 4.0
            yield [n]

    with (
        serving() as (server,),
        qsync.connect(server.address, timeout=10.0) as db,
        qsync.connect(server.address, direct=True) as other,
    ):
        receipts = db.space("s").replace_many(rows(), window=window)
        assert [receipt.duplicate for receipt in receipts] == [False] * 20
        assert server.store.rows.keys() == set(range(20))


def test_one_that_cannot_be_sent_is_raised_after_those_before_it_are_settled() -> None:
    with serving() as (server,), qsync.connect(server.address) as db:
        with pytest.raises(WrongTuple):
            db.space("s").replace_many([[1], [2], "three"])
        assert server.store.rows.keys() == {1, 2}


class Owner(NamedTuple):
    id: int
    name: str


@pytest.mark.parametrize("take", [False, True])
def test_a_write_whose_row_is_not_of_the_class_is_said_to_be_done(take: bool) -> None:
    with serving() as (server,), qsync.connect(server.address) as db:
        db.space("s").replace([1, 10])
        typed = db.space("s", row=Owner)
        with pytest.raises(WrongTuple) as caught:
            _ = typed.delete(1) if take else typed.update(1, [("+", 2, 5)])
        assert caught.value.outcome is Outcome.COMMITTED
        assert db.space("s").get(1) == (None if take else [1, 15])
        with pytest.raises(WrongTuple) as refused:
            typed.insert((1, "no Owner"))  # type: ignore[arg-type]  # the mistake
        assert refused.value.outcome is Outcome.ROLLED_BACK


def test_a_name_that_cannot_be_one_keeps_nobody_from_the_other_addresses() -> None:
    with serving() as (server,):
        with qsync.connect(["a..b:1", server.address]) as db:
            db.space("s").replace([1])
        with pytest.raises(Unavailable, match=r"a\.\.b:1"):
            qsync.connect("a..b:1", connect_timeout=0.05)


def said_by(call: Callable[[], object]) -> str:
    """What it returns, or the code of its error."""
    try:
        return str(call())
    except QsyncError as error:
        return error.code


def test_a_process_that_was_forked_leaves_the_client_to_its_parent() -> None:
    """Else both number their writes alike, and the second is answered with the first's receipt."""
    with serving() as (server,), qsync.connect(server.address) as db:
        db.space("s").replace([1])
        pending, write = db.pipeline().space("s").replace([2]), lambda: db.space("s").replace([3])
        here, there = socket.socketpair()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the server is a thread
            child = os.fork()
        if not child:
            try:
                told = [said_by(each) for each in (write, pending.result, db.close)]
                there.sendall(" ".join(told).encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        there.close()
        with here:
            assert here.recv(1000).decode() == "CLIENT_CLOSED OUTCOME_UNKNOWN None"
        assert pending.result().index == server.store.index
        assert not db.space("s").replace([4]).duplicate
        assert server.store.rows.keys() == {1, 2, 4}


# -- async, under both backends

BACKENDS = ("trio", "asyncio")


def both(test: Callable[[], Awaitable[None]]) -> Callable[[str], None]:
    """Run an async test under Trio and under asyncio."""

    @pytest.mark.parametrize("backend", BACKENDS)
    def run(backend: str) -> None:
        anyio.run(test, backend=backend)

    run.__name__ = run.__qualname__ = getattr(test, "__name__", "test")
    return run


@asynccontextmanager
async def connected(count: int = 1) -> AsyncGenerator[tuple[list[Server], qsync.AsyncClient]]:
    with serving(count) as servers:
        async with qsync.connect_async(servers[0].address) as db:
            yield servers, db


@both
async def test_an_async_client_does_it_all() -> None:
    async with connected() as (_, db):
        await db.schema.create_space("s", format=[("id", "unsigned")])
        space = db.space("s")
        receipt = await space.replace([1, 10])
        assert (await space.update(1, [("+", 2, 5)])).row == [1, 15]
        assert await space.get(1, at_least=receipt) == [1, 15]
        with pytest.raises(DuplicateKey):
            await space.insert([1, 0])
        assert await space.select() == [[1, 15]]
        assert await space.count() == 1
        assert (await space.delete(1)).row == [1, 15]
        async with db.transaction() as tx:
            tx.space("s").insert([3])
            assert await tx.space("s").get(3) is None
        assert tx.receipt is not None
        assert (await db.status())["name"] == "n"


@both
async def test_many_tasks_share_one_connection() -> None:
    async with connected() as ((server,), db):
        space = db.space("s")

        async def work(base: int) -> None:
            for n in range(20):
                await space.replace([base + n])

        async with anyio.create_task_group() as group:
            for base in range(0, 2000, 100):
                group.start_soon(work, base)
        assert await space.count() == 400
        assert len(server.store.sessions) == 1
        receipts = await space.replace_many(([n] for n in range(1000)), window=64)
        assert len(receipts) == 1000


@both
async def test_an_async_client_of_a_follower_finds_the_leader() -> None:
    async with connected(2) as ((_, leader), db):
        await db.space("s").replace([1])
        assert leader.store.rows.keys() == {1}


@both
async def test_an_async_write_whose_connection_ended_is_done_once() -> None:
    async with connected() as ((server,), db):
        await db.space("s").replace([1, 0])
        server.swallow_writes = 2
        assert (await db.space("s").update(1, [("+", 2, 1)])).duplicate
        assert await db.space("s").get(1) == [1, 1]


@both
async def test_an_async_unknown_outcome_is_resolved_by_its_token() -> None:
    async with connected() as ((server,), db):
        await db.space("s").replace([1, 0])
        server.swallow_writes = 10_000
        with pytest.raises(OutcomeUnknown) as caught:
            await db.space("s").update(1, [("+", 2, 1)], timeout=0.05)
        server.swallow_writes = 0
        assert (await db.resolve(caught.value.token)).duplicate
        assert await db.space("s").get(1) == [1, 1]


@both
async def test_who_waits_when_an_async_client_is_closed_is_told_so() -> None:
    told: list[QsyncError] = []

    async def wait(call: Callable[[], Awaitable[object]]) -> None:
        try:
            await call()
        except QsyncError as error:
            told.append(error)

    with serving() as (server,), anyio.fail_after(10):
        async with anyio.create_task_group() as group, qsync.connect_async(server.address) as db:
            await db.space("s").replace([1])
            server.store.late = []
            group.start_soon(wait, lambda: db.space("s").replace([2]))
            while not server.store.late:
                await anyio.lowlevel.checkpoint()
        (error,) = told
        assert isinstance(error, OutcomeUnknown)
        assert error.token


@both
async def test_an_operation_whose_trial_was_cancelled_is_not_in_the_transaction() -> None:
    async with connected() as (_, db):
        async with db.transaction() as tx:
            tx.space("s").insert([1])
            with anyio.CancelScope() as scope:
                scope.cancel()
                await tx.try_write(operations.insert("s", [2]))
        assert await db.space("s").select() == [[1]]


@both
async def test_a_name_that_cannot_be_one_keeps_no_async_client_from_the_other_addresses() -> None:
    with serving() as (server,):
        async with qsync.connect_async(["\u00fc..b:1", server.address]) as db:
            await db.space("s").replace([1])


@both
async def test_an_exception_in_the_body_comes_out_as_it_is() -> None:
    raised: list[BaseException] = [KeyError(), SystemExit(3), KeyboardInterrupt(), GeneratorExit()]
    for error in raised:
        with pytest.raises(type(error)) as met:
            async with connected():
                raise error
        assert met.value is error


@both
async def test_an_error_of_a_body_that_is_cancelled_is_not_lost() -> None:
    async def fail_at_the_end() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            raise KeyError

    async def be_cancelled() -> None:
        with anyio.CancelScope() as scope:
            async with connected(), anyio.create_task_group() as group:
                group.start_soon(fail_at_the_end)
                await anyio.wait_all_tasks_blocked()
                scope.cancel()

    with pytest.raises(BaseExceptionGroup) as met:
        await be_cancelled()
    assert met.group_contains(KeyError)
    assert met.value.subgroup(anyio.get_cancelled_exc_class()) is None


@contextmanager
def silent(count: int) -> Iterator[list[str]]:
    """Addresses that take connections and never say a word."""
    with ExitStack() as stack:
        made = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        yield [f"127.0.0.1:{each.getsockname()[1]}" for each in made]


def test_silent_nodes_keep_a_blocking_client_from_nothing() -> None:
    with silent(2) as hung, serving() as (server,):
        with qsync.connect([*hung, server.address], connect_timeout=5.0) as db:
            db.space("s").replace([1])
        with pytest.raises(Unavailable) as caught:
            qsync.connect(hung, connect_timeout=0.4)
        assert all(address in str(caught.value) for address in hung)


@both
async def test_silent_nodes_keep_an_async_client_from_nothing() -> None:
    with silent(2) as hung, serving() as (server,):
        addresses = [*hung, server.address]
        async with qsync.connect_async(addresses, connect_timeout=5.0) as db:
            await db.space("s").replace([1])


@both
async def test_an_async_client_with_nobody_there_is_unavailable() -> None:
    with serving() as (server,):
        address = server.address
    with pytest.raises(Unavailable):
        async with qsync.connect_async(address, connect_timeout=0.05):
            raise AssertionError


@both
async def test_a_cancelled_call_leaves_the_client_usable() -> None:
    async with connected() as (_, db):
        with anyio.CancelScope() as scope:
            scope.cancel()
            await db.space("s").replace([1])  # waits for its session
        await db.space("s").replace([2])
        assert await db.space("s").get(1) is None, "it was never sent"
        with anyio.CancelScope() as scope:
            scope.cancel()
            await db.space("s").replace([3])
        await db.space("s").replace([4])
        assert await db.space("s").get(3) == [3], "it was sent, and is not taken back"


async def test_the_session_of_an_async_client_is_expired_at_the_end() -> None:
    with serving() as (server,):
        async with qsync.connect_async(server.address) as db:
            await db.space("s").replace([1])
            assert len(server.store.sessions) == 1
        async with qsync.connect_async(server.address) as db:
            await db.ping()
        with trio.fail_after(5):
            while server.store.sessions:
                await trio.lowlevel.checkpoint()


# -- load


@pytest.mark.parametrize("session", [None, lambda: b"0123456"])
def test_load_counts_what_was_answered(session: Callable[[], bytes] | None) -> None:
    numbers = iter(range(100_000))
    with serving() as (server,):
        made = load.LoadGenerator(
            server.address,
            load.put("s", lambda: cbor2.dumps([next(numbers), "x"])),
            connections=2,
            outstanding=8,
            session=session,
        )
        tally = made.run(seconds=5.0, count=500)
        made.close()
    assert tally.done == len(tally.latencies) == 500
    assert (tally.errors, tally.unknown) == (0, 0)
    assert min(tally.latencies) > 0
    assert tally.seconds > 0


def test_load_counts_errors_and_keeps_the_first() -> None:
    with serving() as (server,):
        made = load.LoadGenerator(server.address, load.put("nowhere", lambda: cbor2.dumps([1])))
        tally = made.run(seconds=5.0, count=5)
        made.close()
    assert (tally.done, tally.errors) == (0, 5)
    assert isinstance(tally.first_error, NoSuchSpace)


def test_load_asks_again_what_a_node_was_too_busy_for() -> None:
    numbers = iter(range(100_000))
    with serving() as (server,):
        made = load.LoadGenerator(
            server.address,
            load.put("s", lambda: cbor2.dumps([next(numbers), "x"])),
            connections=2,
            outstanding=8,
            session=lambda: b"0123456",
        )
        server.too_busy = 20
        tally = made.run(seconds=60.0, count=100)
        made.close()
    assert (tally.done, tally.errors, tally.unknown, tally.overloaded) == (100, 0, 0, 20)
    assert len(tally.latencies) == 100
    assert max(tally.latencies) > 0.001, "it counts from when it was asked first"


def test_load_ends_early_where_nobody_leads_any_more() -> None:
    with serving() as (server,):
        made = load.LoadGenerator(
            server.address, load.put("s", lambda: cbor2.dumps([1, "x"])), outstanding=8
        )
        server.leader = "127.0.0.1:1"
        tally = made.run(seconds=60.0)
        made.close()
    assert made.moved
    assert tally.seconds < 30
    assert isinstance(tally.first_error, NotLeader)


def test_load_ends_early_where_the_node_hangs_up() -> None:
    with serving() as (server,):
        made = load.LoadGenerator(
            server.address,
            load.put("s", lambda: cbor2.dumps([1, "x"])),
            session=lambda: b"0123456",
        )
        server.swallow_writes = 1
        tally = made.run(seconds=60.0)
        made.close()
    assert made.moved
    assert (tally.unknown, tally.errors) == (1, 0)
    assert isinstance(tally.first_error, Unavailable)


def test_load_at_a_rate_keeps_the_schedule() -> None:
    with serving() as (server,):
        made = load.LoadGenerator(
            server.address, load.get("s", lambda: [1]), connections=2, outstanding=4
        )
        tally = made.run(seconds=5.0, count=50, rate=1000)
        made.close()
    assert tally.done == 50
    assert tally.seconds >= 0.049


def test_load_does_transactions_of_many() -> None:
    with serving() as (server,):
        made = load.LoadGenerator(
            server.address, load.transaction("s", lambda: cbor2.dumps([1]), size=10)
        )
        assert made.run(seconds=5.0, count=3).done == 3
        made.close()
        assert all(len(r.ops) == 10 for r in server.heard if isinstance(r, WriteRequest))
