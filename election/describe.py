"""One line for each message and each state: the same text in tests, logs and the shell."""

from typing import assert_never

from election.messages import (
    Ballot,
    ElectionMessage,
    Position,
    RequestVote,
    RequestVoteResponse,
    Resigned,
    TimeoutNow,
)
from election.raft import Raft
from election.vote_record import VoteRecord


def position(at: Position) -> str:
    """Term and index, as in `7:42`."""
    return f"{at.term}:{at.index}"


def message(said: ElectionMessage) -> str:
    """Describe a message: `ask_vote term=8 candidate=2 log=7:42 pre`."""
    match said:
        case RequestVote():
            line = f"ask_vote term={said.term} candidate={said.candidate}"
            line += f" log={position(said.position)}"
            return line + _flags(pre=said.pre, transfer=said.transfer)
        case RequestVoteResponse():
            answer = "AYE" if said.granted else f"NAY {said.reason}"
            line = f"vote {answer} term={said.term} asked={said.asked_term} voter={said.voter}"
            return line + _flags(pre=said.pre)
        case TimeoutNow():
            return f"campaign_now term={said.term} leader={said.leader}"
        case Resigned():
            return f"resigned term={said.term} leader={said.leader}"
        case _:
            assert_never(said)


def ballot(filled: Ballot) -> str:
    """Describe a ballot: `term=8 vote=2`."""
    line = f"term={filled.term} vote={filled.vote or '-'}"
    return line if filled.member else line + " recruit"


def votes(request: VoteRecord) -> str:
    """Describe a request for votes and its answers: `term=8 candidate=2 1:AYE 3:log_behind`."""
    answers = (f" {voter}:{nay or 'AYE'}" for voter, nay in sorted(request.answers.items()))
    line = f"term={request.term} candidate={request.candidate}" + "".join(answers)
    return line + _flags(pre=request.pre)


def state(raft: Raft) -> str:
    """Describe an election: `raft me=1 leader term=8 vote=1 leader=1 log=7:42`."""
    line = f"raft me={raft.electorate.me} {raft.role} {ballot(raft.ballot)}"
    line += f" leader={raft.leader or '-'} log={position(raft.state.position)}"
    if raft.transfer.target is not None:
        line += f" handing_to={raft.transfer.target}"
    return line + _flags(fenced=raft.state.fenced)


def _flags(**flags: bool) -> str:
    return "".join(f" {name}" for name, is_set in flags.items() if is_set)
