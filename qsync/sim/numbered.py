"""The numbers that clients give their writes: once only, and in one cluster only (M8 g)."""

from collections.abc import Iterable

from election.messages import Replica, Term
from qsync.core.generation import generation_of
from qsync.core.ready import Settled
from qsync.sim import properties
from qsync.sim.canon import PropertyViolation, ReferenceLog, ReferenceRecords
from qsync.sim.generations import is_ended


class SessionRules:
    """Properties 9 and 20 of sessions and numbers, also across clusters made of one another.

    `generation`: how often the cluster was begun again; older sessions ended. `left_unknown`: how
    often a write of an ended session was repeated.
    """

    def __init__(self, books: ReferenceRecords, canon: ReferenceLog) -> None:
        self.generation = 0
        self.left_unknown = 0
        self._books = books
        self._canon = canon

    def numbered(self, place: tuple[int, int]) -> None:
        """Property 20: nothing is done under a number of a session that ended (M8 g)."""
        request = self._books.places[place].request
        if request[1] and is_ended(request[0], generation_of(Term(place[1]))):
            properties.number_ended(request, f"is done at {place[0]} of term {place[1]}")

    def answers(
        self, me: Replica, request: tuple[bytes, int], settled: Settled, term: Term
    ) -> None:
        """Property 20: no node of a later cluster knows its fate (M8 g)."""
        if request[1] and is_ended(request[0], generation_of(term)):
            verdict = settled.verdict.value
            properties.number_ended(request, f"is {verdict} by the word of node {me} in {term}")

    def told_of_token(self, request: tuple[bytes, int], type_: str, *, asked_in: int) -> None:
        """Property 20: who repeats a write of an ended session hears that nobody knows (M8 g).

        `asked_in`: in which generation it was repeated.
        """
        if not is_ended(request[0], asked_in):
            return
        if type_ != "info":
            properties.number_ended(request, f"is answered with {type_} when it is repeated")
        self.left_unknown += 1

    def told_once(self, numbers: Iterable[tuple[bytes, int]], type_: str) -> None:
        """Property 9: under all the numbers that a client gave its write it takes effect once.

        `type_`: what the client was told. If that is "fail", it did not take effect at all.
        """
        done = [request for request in numbers if self._canon.took_effect(request)]
        if len(done) > 1 or (done and type_ == "fail"):
            names = [f"{session.hex()}:{number}" for session, number in done]
            raise PropertyViolation(9, f"a write told as {type_} took effect as {names}")
