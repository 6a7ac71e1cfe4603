"""What clients ask of a node, over its own code for requests: writes, reads, schema, sessions."""

from collections.abc import Sequence

from election.messages import Index, Term
from qsync.core.consistency import Consistency
from qsync.data import tuples
from qsync.data.operation_kinds import Op
from qsync.wire import replies
from qsync.wire.verbs import GetRequest, ReadLevel, WriteFlags, WriteRequest
from tests.scenarios import words as said
from tests.scenarios.actor import Actor
from tests.scenarios.acts import act
from tests.scenarios.desk import Asked
from tests.scenarios.stage import Stage

FLAGS = {
    "is_sync": WriteFlags.SYNC,
    "is_async": WriteFlags.ASYNC,
    "wait=complete": WriteFlags.NONE,
    "wait=submit": WriteFlags.SUBMIT,
    "wait=none": WriteFlags.NO_WAIT,
    "doubted": WriteFlags.DOUBTED,
}


@act
def write(stage: Stage, words: list[str]) -> None:
    """write N OPERATION... [with OPTION...]: a client's transaction, and what it is told.

    Operations as in `words.operation`. Options: `is_sync`, `wait=submit|none`, `timeout=SECONDS`,
    `session=NAME/NUMBER` (a retry repeats both), `doubted` (another attempt may be done),
    `by=CLIENT`, `read=KEY@SPACE/TERM/INDEX` (it was computed from that tuple, read from a log that
    had come so far).
    """
    asked, options = split(words[1:])
    transact(stage, words[0], (" ".join(asked), [said.operation(each) for each in asked]), options)


@act
def space(stage: Stage, words: list[str]) -> None:
    """space N create|alter|drop|truncate NAME [OPTION=true|false ...]: a change of the schema."""
    what, name = words[1:3]
    options: dict[str, object] = {}
    for word in words[3:]:
        option, _, value = word.partition("=")
        options[option] = value == "true"
    ops: dict[str, list[object]] = {
        "create": said.create(name, **options),
        "alter": [int(Op.ALTER_SPACE), name, options],
        "drop": [int(Op.DROP_SPACE), name],
        "truncate": [int(Op.TRUNCATE), name],
    }
    transact(stage, words[0], (" ".join(words[1:]), [ops[what]]), [])


@act
def session(stage: Stage, words: list[str]) -> None:
    """session N NAME: a client opens a session, whose id begins with its name."""
    op: list[object] = [int(Op.OPEN_SESSION), words[1].encode()]
    transact(stage, words[0], (f"session {words[1]}", [op]), [])


@act
def expire(stage: Stage, words: list[str]) -> None:
    """expire N NAME: the session of that name was silent for too long, and is forgotten."""
    op: list[object] = [int(Op.EXPIRE_SESSION), session_id(stage, words[1])]
    transact(stage, words[0], (f"expire {words[1]}", [op]), [])


def session_id(stage: Stage, name: str) -> bytes:
    """Of the session that a client opened first under that name; it never uses another one."""
    for actor in stage.running:
        replicated_log = actor.machine.replicated_log
        begins = Index(replicated_log.log.start.index + 1)
        for session in said.sessions_opened(
            replicated_log.entries(begins, replicated_log.log.last)
        ):
            if said.session_name(session) == name:
                return session
    return name.encode()


def split(words: list[str]) -> tuple[list[str], list[str]]:
    """What is before the word `with`, and what is after it."""
    at = words.index("with") if "with" in words else len(words)
    return words[:at], words[at + 1 :]


def transact(
    stage: Stage, node: str, what: tuple[str, Sequence[list[object]]], options: list[str]
) -> None:
    """Send a transaction (what it is called, its operations) to a node."""
    called, ops = what
    actor = stage.actor(node)
    given = dict(each.partition("=")[::2] for each in options if each not in FLAGS)
    flags = sum(FLAGS[each] for each in options if each in FLAGS)
    name, _, number = given.get("session", "/0").partition("/")
    request = WriteRequest(
        id=actor.desk.number(),
        session=session_id(stage, name),
        seq=int(number),
        low=0,
        flags=flags,
        ops=ops,
        timeout=float(given["timeout"]) if "timeout" in given else None,
    )
    if "read" in given:
        request = _computed(request, given["read"])
    read = _in_the_log if flags & (WriteFlags.SUBMIT | WriteFlags.NO_WAIT) else _committed
    actor.desk.ask(given.get("by", ""), request, Asked(called, read))
    actor.settle()


def _computed(request: WriteRequest, read: str) -> WriteRequest:
    """What a client library says of the one tuple that it read before."""
    where, term, index = read.split("/")
    key, _, space = where.partition("@")
    reads = [["p", int(index), int(term)], ["k", space or said.SYNC, 0, [key]]]
    return request._replace(snapshot=int(index), reads=reads)


def _committed(values: list[object]) -> str:
    done = replies.read_committed(values)
    again = ", as before" if done.duplicate else ""
    acks = f", acks={done.acks}" if done.acks else ""
    return f"committed at term={done.term} index={done.at}{acks}{again}"


def _in_the_log(values: list[object]) -> str:
    """The same answer to somebody who did not want to wait for the decision."""
    done = replies.read_committed(values)
    assert not done.acks
    return f"in the log at term={done.term} index={done.at}"


@act
def get(stage: Stage, words: list[str]) -> None:
    """get N KEY[@SPACE] [with local|lease|at_least=TERM/INDEX] [by=CLIENT]: linearizable if not."""
    asked, options = split(words[1:])
    key, _, where = asked[0].partition("@")
    actor = stage.actor(words[0])
    by = next((each[3:] for each in options if each.startswith("by=")), "")
    level = _level([each for each in options if not each.startswith("by=")])
    request = GetRequest(actor.desk.number(), where or said.SYNC, 0, [key], level)
    actor.desk.ask(by, request, Asked(f"get {asked[0]}", _found))
    actor.settle()


def _level(options: list[str]) -> ReadLevel:
    if not options:
        return ReadLevel()
    name, _, receipt = options[0].partition("=")
    term, _, index = (receipt or "0/0").partition("/")
    return ReadLevel(Consistency(name), Term(int(term)), Index(int(index)))


def _found(values: list[object]) -> str:
    row, (_, index) = replies.read_row(values)
    if row is None:
        return f"nothing, at {index}"
    fields = tuples.stored(row)
    return f"{fields[1] if len(fields) > 1 else 'there'}, at {index}"


@act
def hang_up(stage: Stage, words: list[str]) -> None:
    """hang-up N CLIENT: that client is gone, whatever it waited for."""
    stage.actor(words[0]).desk.hang_up(words[1])


@act
def clients(stage: Stage, words: list[str]) -> None:
    """clients N: what the clients of N wait for."""
    actor = stage.actor(words[0])
    waiting = [
        each.called for caller in actor.desk.callers.values() for each in caller.asked.values()
    ]
    stage.say(f"{actor.me}: waiting: {', '.join(waiting) or 'nobody'}")


@act
def data(stage: Stage, words: list[str]) -> None:
    """data [N...]: what readers of each node see now, space by space."""
    for actor in [stage.actor(word) for word in words] or stage.running:
        stage.say(f"{actor.me}: {_visible(actor)}")


def _visible(actor: Actor) -> str:
    state = actor.core.state
    parts = []
    for name, one in state.spaces().items():
        if not one.system and one.indexes:
            rows = " ".join(said.shown(row) for row in state.select(name))
            if rows or name not in (said.SYNC, said.ASYNC):
                parts.append(f"{name} {{{rows}}}")
    return ", ".join(parts) or "nothing"


@act
def count(stage: Stage, words: list[str]) -> None:
    """count N...: how many tuples of the space `sync` readers of each node see now."""
    for word in words:
        stage.say(f"{word}: {stage.actor(word).core.state.count(said.SYNC)} tuples")


@act
def spaces(stage: Stage, words: list[str]) -> None:
    """spaces [N...]: the spaces that users of each node see, and which are synchronous."""
    for actor in [stage.actor(word) for word in words] or stage.running:
        found = [one for one in actor.core.state.spaces().values() if not one.system]
        shown = ", ".join(f"{one.name} is_sync={str(one.is_sync).lower()}" for one in found)
        stage.say(f"{actor.me}: {shown}")
