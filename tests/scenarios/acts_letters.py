"""Messages between nodes as things: to look at, to forge, to keep and to send again."""

from collections.abc import Callable, Mapping
from weakref import WeakKeyDictionary

from election import describe
from election.messages import (
    Index,
    Position,
    Replica,
    RequestVote,
    RequestVoteResponse,
    Resigned,
    Term,
    TimeoutNow,
)
from qsync.core.messages import (
    Append,
    AppendResponse,
    Heartbeat,
    HeartbeatResponse,
    InstallSnapshot,
    Message,
    ReadIndex,
    ReadIndexResponse,
    TransferLeadership,
)
from tests.scenarios.acts import act
from tests.scenarios.stage import Link, Stage, Underway

KEPT: WeakKeyDictionary[Stage, dict[str, tuple[Link, list[Underway]]]] = WeakKeyDictionary()
"""What `keep` put aside, by name."""


@act
def mail(stage: Stage, words: list[str]) -> None:
    """mail [A B]: what waits on one wire, or on all."""
    links = [(int(words[0]), int(words[1]))] if words else sorted(stage.wires)
    for link in links:
        for _, message, _ in stage.wires[link]:
            stage.say(f"{link[0]}>{link[1]} {_shown(message)}")


def _shown(message: Message) -> str:
    match message:
        case RequestVote() | RequestVoteResponse() | TimeoutNow() | Resigned():
            return describe.message(message)
        case Append():
            reach = f"entries {message.prev_index + 1}..{message.last}"
            what = reach if message.entries else f"nothing after {message.prev_index}"
            return f"append term={message.term} {what} confirmed={message.confirmed}"
        case AppendResponse():
            answer = "ack" if message.ok else "refusal, try"
            return f"{answer} {message.index} term={message.term}" + _recruit(message.recruit)
        case Heartbeat():
            line = f"heartbeat term={message.term} round={message.round}"
            return f"{line} confirmed={message.confirmed}" + " admit" * message.admit
        case HeartbeatResponse():
            return f"heard term={message.term} round={message.round}" + _recruit(message.recruit)
        case ReadIndex():
            return f"ask_index term={message.term}"
        case ReadIndexResponse():
            place = describe.position(message.place) if message.place else "none"
            return f"read_index term={message.term} place={place}"
        case TransferLeadership():
            return f"ask_hand_over term={message.term} candidate={message.candidate}"
        case InstallSnapshot():
            return f"snapshot term={message.term} at {message.start.index}"


def _recruit(flag: bool) -> str:
    return " recruit" if flag else ""


@act
def forge(stage: Stage, words: list[str]) -> None:
    """forge A B KIND [FIELD=NUMBER|WORD ...]: a message that A never sent is on its way to B.

    KIND is ask_vote (`term` `log=TERM:INDEX` `pre` `transfer`), vote (`term` `asked` `pre`),
    heartbeat, campaign_now or resigned (`term`).
    """
    link = (int(words[0]), int(words[1]))
    given = dict(word.partition("=")[::2] for word in words[3:])
    message = FORGERS[words[2]](Replica(link[0]), given)
    instance = stage.actors[link[0]].config.instance
    stage.wires[link].append(Underway(stage.epoch[link], message, instance))


def _ask_vote(by: Replica, given: Mapping[str, str]) -> Message:
    term, _, index = given["log"].partition(":")
    return RequestVote(
        term=Term(int(given["term"])),
        candidate=by,
        position=Position(Term(int(term)), Index(int(index))),
        pre="pre" in given,
        transfer="transfer" in given,
    )


def _vote(by: Replica, given: Mapping[str, str]) -> Message:
    return RequestVoteResponse(
        term=Term(int(given["term"])),
        asked_term=Term(int(given["asked"])),
        voter=by,
        pre="pre" in given,
        granted=True,
        reason=None,
    )


def _heartbeat(by: Replica, given: Mapping[str, str]) -> Message:
    term, nothing = Term(int(given["term"])), Index(0)
    return Heartbeat(term=term, leader=by, epoch=1, round=1, matched=nothing, confirmed=nothing)


def _campaign_now(by: Replica, given: Mapping[str, str]) -> Message:
    return TimeoutNow(term=Term(int(given["term"])), leader=by)


def _resigned(by: Replica, given: Mapping[str, str]) -> Message:
    return Resigned(term=Term(int(given["term"])), leader=by)


FORGERS: Mapping[str, Callable[[Replica, Mapping[str, str]], Message]] = {
    "ask_vote": _ask_vote,
    "vote": _vote,
    "heartbeat": _heartbeat,
    "campaign_now": _campaign_now,
    "resigned": _resigned,
}


@act
def keep(stage: Stage, words: list[str]) -> None:
    """keep A B NAME: a copy of what waits on that wire is put aside; the wire keeps its own."""
    link = (int(words[0]), int(words[1]))
    KEPT.setdefault(stage, {})[words[2]] = (link, list(stage.wires[link]))


@act
def again(stage: Stage, words: list[str]) -> None:
    """again NAME [late]: what was put aside under that name is on its wire once more.

    `late`: its reader was slow, and there is another connection by now.
    """
    link, letters = KEPT[stage][words[0]]
    if words[1:] == ["late"]:
        letters = [each._replace(epoch=stage.epoch[link]) for each in letters]
    stage.wires[link].extend(letters)
