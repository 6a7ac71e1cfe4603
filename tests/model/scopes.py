"""What is searched, how far, and which broken rules each search must notice."""

from dataclasses import dataclass

from tests.model.cluster import Cluster
from tests.model.leases import LeaseBounds, LeaseModel
from tests.model.search import Searched, search
from tests.model.state import Bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A search: its bounds, what must have happened in it, and what it is part of.

    `mutants`: rules (see `MUTANTS`) that break something in these bounds when they are not kept.
    """

    name: str
    claim: str
    bounds: Bounds | LeaseBounds
    reaches: frozenset[str]
    mutants: tuple[str, ...] = ()
    quick: bool = False

    def search(self, mutant: str = "") -> Searched:
        """Look at every state."""
        if isinstance(self.bounds, LeaseBounds):
            return search(LeaseModel(self.bounds, mutant))
        return search(Cluster(self.bounds, mutant))


MUTANTS = {
    # Those of the code (qsync/sim/mutants), under the same names.
    "vote_not_persisted": ("2", "a vote is durable before it is sent"),
    "ack_before_durable": ("3.5", "an ack covers durable entries only"),
    "quorum_minus_one": ("3.6", "only a full quorum of acks confirms"),
    "confirm_older_term": ("3.6", "acks alone confirm no entry of an older term"),
    "rollback_inherited": ("5", "a leader does not roll back inherited entries"),
    "stretch_rule_leader": ("3.8", "a confirmed index never stops in a rolled-back stretch"),
    "stretch_rule_carried": (
        "3.8",
        ("the confirmed index that is sent never ends in a rolled-back stretch"),
    ),
    "read_without_round": ("7", "a read waits for a round that begins after it"),
    "reads_by_index": ("7", "a read is served by a place, not by an index"),
    "refuses_by_head": ("7", "a refusal never rests on pending data"),
    "retry_applies_twice": ("5", "a request that is in the log is not applied again"),
    "sessions_forgotten": ("5", "a new leader knows the requests that earlier leaders executed"),
    "pair_ignored": ("M1 d", "votes and acks count by pair of node and disk"),
    "promise_shortened": ("M11 i", "a new setting does not shorten a promise"),
    "refused_is_dead": ("M11 i", "a refused connection does not end a promise"),
    "promise_forgotten": ("M11 c", "a restarted voter waits one promise before it votes"),
    "candidate_indulgent": ("M11 d", "a candidate keeps its own promise"),
    "lease_from_answer": ("M11 a", "a lease runs from the start of its round"),
    "lease_twice_the_promise": ("M11 b", "a lease is shorter than the promise behind it"),
    "lease_after_permit": (
        "M11 f",
        ("a leader that released voters from their promises gets no lease in that term"),
    ),
    "vote_unchecked": (
        "2",
        ("a voter votes only for a candidate whose log is at least as new as its own"),
    ),
    "vote_by_length": ("2", "logs are compared by last term, then by last index"),
    "ack_of_older_term": ("3.5", "acks of an older term do not count"),
    "own_write_not_awaited": ("3.6", "the leader's own entry counts when it is durable"),
    "rollback_beyond_confirmed": (
        "4",
        ("a ROLLBACK does not change the fate of entries that are confirmed before it"),
    ),
    "rolled_back_said_at_once": (
        "5",
        ('a client hears "rolled back" when the ROLLBACK is on a quorum'),
    ),
    "two_changes_in_one": ("M1 a", "one entry adds or removes one voter"),
    "configuration_from_file": ("M1 c", "an empty log has no configuration"),
    "change_before_promote": ("M2 a", "a change waits for the leader's own PROMOTE"),
    "change_undecided": ("M2 b", "a change waits for the previous one"),
    "rollback_of_change_undecided": ("M2 b", "a change waits for the ROLLBACK of the previous one"),
    "change_back_when_confirmed": (
        "M3 c",
        ("a ROLLBACK of a change is in force when it is appended"),
    ),
    "votes_twice": ("2", "one vote a term"),
    "minority_elects": ("2", "a majority elects"),
    "older_leader_obeyed": ("7", "a leader of an older term is no longer obeyed"),
    "entry_before_unchecked": (
        "7",
        ("a follower appends a batch only behind the entry that it names"),
    ),
    "shows_pending": ("4", "pending data is not readable"),
    "reads_before_promote": ("7", "a new leader serves reads once its PROMOTE is confirmed"),
    "configured_when_confirmed": ("M1 b", "a configuration is in force when it is appended"),
    "leaver_counts_itself": ("M4 b", "a leader that leaves does not count itself"),
    "repaired_in_place_by_promote": (
        "M5",
        ("a node that lost its disk is not restored in place by the PROMOTE of the term"),
    ),
    "repaired_in_place_by_whole_log": ("M5", "nor by the leader's whole log at that moment"),
    "repaired_in_place_by_majority": (
        "M5",
        ("nor by the leader's whole log and a majority of nodes in the term"),
    ),
    "lease_by_old_configuration": ("M11 g", "a lease is checked by the configuration in force"),
    "lease_by_old_clock": ("M11 j", "a lease is checked by a clock reading made for each read"),
    "new_term_in_spite_of_a_promise": ("M11 e", "NewTerm waits for promises like any vote"),
}
"""Name to the rule that it breaks: where it is written, and what it says."""

LEASES = (
    "promise_shortened",
    "refused_is_dead",
    "promise_forgotten",
    "candidate_indulgent",
    "lease_from_answer",
    "lease_twice_the_promise",
    "lease_after_permit",
    "lease_by_old_configuration",
    "lease_by_old_clock",
    "new_term_in_spite_of_a_promise",
)


def _scope(
    name: str,
    claim: str,
    reaches: str,
    bounds: Bounds | LeaseBounds,
    *mutants: str,
    quick: bool = False,
) -> Scope:
    return Scope(
        name=name,
        claim=claim,
        bounds=bounds,
        reaches=frozenset(reaches.split(", ")),
        mutants=mutants,
        quick=quick,
    )


QUICK = (
    _scope(
        "elections",
        "one leader per term, over crashes and two terms, from nothing",
        "wins, crashes, arrives",
        Bounds(led=False, log=3, crashes=1),
        *("vote_not_persisted", "votes_twice", "minority_elects"),
        quick=True,
    ),
    _scope(
        "elections-thrice",
        (
            "an entry of an older term is confirmed only by one of the leader's own term (Raft's "
            "figure 8)"
        ),
        "wins, confirms, is cut",
        Bounds(terms=4, log=4, writes=1),
        *("confirm_older_term", "vote_unchecked", "vote_by_length", "ack_of_older_term"),
        *("older_leader_obeyed", "entry_before_unchecked"),
        quick=True,
    ),
    _scope(
        "writes-crash",
        "confirmed entries survive a crash of any node between any two writes",
        "writes, is durable, crashes, confirms, wins",
        Bounds(writes=1, crashes=1, slow=True),
        *("ack_before_durable", "quorum_minus_one", "own_write_not_awaited"),
        quick=True,
    ),
    _scope(
        "rollbacks",
        "a ROLLBACK with late acks and a take-over: one fate, and outcomes stay true",
        "rolls back, confirms, wins, is cut",
        Bounds(writes=1, asyncs=1, rollbacks=1, log=6),
        *("rollback_inherited", "stretch_rule_leader", "stretch_rule_carried"),
        *("rollback_beyond_confirmed", "rolled_back_said_at_once"),
        quick=True,
    ),
    _scope(
        "rollbacks-records",
        "the same with CONFIRM as an entry",
        "rolls back, confirms, wins, is cut",
        Bounds(writes=1, rollbacks=1, log=6, records=True),
        quick=True,
    ),
    _scope(
        "requests",
        "a request that arrives again or late takes effect once",
        "asks again, rolls back, confirms, wins",
        Bounds(writes=1, retries=1, rollbacks=1, log=6),
        *("retry_applies_twice", "sessions_forgotten"),
        quick=True,
    ),
    _scope(
        "reads",
        "a read shows everything that was confirmed on any node before it began",
        "serves, refuses to read, confirms, wins, is cut",
        Bounds(writes=1, reads=1, late=False),
        *("read_without_round", "refuses_by_head", "shows_pending", "reads_before_promote"),
        quick=True,
    ),
    _scope(
        "changes",
        "voters added and removed one by one, by two leaders, and undone by a ROLLBACK",
        "changes, rolls back, confirms, wins, is cut",
        Bounds(voters=2, changes=2, rollbacks=1, late=False),
        "two_changes_in_one",
        quick=True,
    ),
    _scope(
        "changes-of-three",
        "two changes of three voters; the second waits for the first",
        "changes, confirms, wins, is cut",
        Bounds(changes=2, late=False),
        "change_undecided",
        quick=True,
    ),
    _scope(
        "founded-alone",
        "one voter and two empty nodes, which found no cluster of their own",
        "changes, confirms, wins, writes",
        Bounds(voters=1, changes=1, writes=1, late=False),
        "configuration_from_file",
        quick=True,
    ),
    _scope(
        "changes-of-two",
        "the same with two voters, which need each other",
        "changes, rolls back, confirms, wins, writes",
        Bounds(nodes=2, voters=2, changes=2, writes=1, rollbacks=1, log=5),
        *("leaver_counts_itself", "rollback_of_change_undecided", "change_back_when_confirmed"),
        quick=True,
    ),
    _scope(
        "lost-disk",
        "a node that lost its disk is a stranger: neither its votes nor its acks count",
        "loses its disk, confirms, wins, is cut",
        Bounds(writes=1, wipes=1, late=False),
        *("pair_ignored", "repaired_in_place_by_promote", "repaired_in_place_by_whole_log"),
        quick=True,
    ),
    _scope(
        "leases",
        "no other node is elected while a lease holds, with each clock wrong by a tick",
        "lease, votes, ticks",
        LeaseBounds(promise=3, lease=1, restarts=0, changes=0, lowered=0),
        quick=True,
    ),
)
"""Seconds each; `make test-all`."""

LONG = (
    _scope(
        "elections-three-terms",
        "one leader per term, over two crashes and three terms",
        "wins, crashes, arrives",
        Bounds(led=False, terms=3, log=4, crashes=2),
    ),
    _scope(
        "elections-of-five",
        "five voters, two terms, and a write that two of them do not have",
        "wins, writes, confirms, is cut",
        Bounds(nodes=5, voters=5, writes=1, late=False),
    ),
    _scope(
        "writes-crash-records",
        "a write over two crashes, with CONFIRM as an entry",
        "writes, is durable, crashes, confirms, wins",
        Bounds(writes=1, crashes=2, slow=True, records=True, log=5),
    ),
    _scope(
        "rollbacks-three-terms",
        "rollbacks and two take-overs",
        "rolls back, confirms, wins, is cut",
        Bounds(terms=3, writes=1, asyncs=1, rollbacks=1, log=6, late=False),
    ),
    _scope(
        "rollbacks-twice",
        "three writes and two rollbacks",
        "rolls back, confirms, wins, is cut",
        Bounds(writes=2, asyncs=1, rollbacks=2, log=7, late=False),
    ),
    _scope(
        "reads-tail",
        "a follower does not serve a read from a visible tail of an older term",
        "serves, refuses to read, confirms, wins, is cut",
        Bounds(writes=1, asyncs=2, reads=1, late=False),
        "reads_by_index",
    ),
    _scope(
        "changes-of-three-thrice",
        "voters added and removed, three of three, over three terms",
        "changes, rolls back, confirms, wins, is cut",
        Bounds(terms=3, changes=2, rollbacks=1, log=5),
        "configured_when_confirmed",
    ),
    _scope(
        "changes-and-a-newcomer",
        "two voters and an empty node, two changes, a ROLLBACK and a write",
        "changes, rolls back, writes, confirms, wins, is cut",
        Bounds(voters=2, changes=2, rollbacks=1, writes=1, log=5, late=False),
    ),
    _scope(
        "changes-of-four",
        "changes of different leaders, of four voters",
        "changes, confirms, wins, is cut",
        Bounds(nodes=4, voters=4, terms=3, changes=2, late=False),
        "change_before_promote",
    ),
    _scope(
        "lost-disk-replaced",
        "a lost disk is replaced by two changes, over a take-over and a write",
        "loses its disk, changes, writes, confirms, wins, is cut",
        Bounds(writes=1, wipes=1, changes=2, late=False, log=5),
    ),
    _scope(
        "lost-disk-of-five",
        "five voters, one of which loses its disk while its vote is under way",
        "loses its disk, writes, confirms, wins, is cut",
        Bounds(nodes=5, voters=5, writes=1, wipes=1, log=3, late=False),
        "repaired_in_place_by_majority",
    ),
    _scope(
        "leases-all",
        "leases with restarts, changes of voters, and a shortened setting",
        "lease, votes, ticks, restarts, changes, permits",
        LeaseBounds(),
        *LEASES,
    ),
    _scope(
        "leases-longer",
        "lease <= promise x (1 - 2 x drift): five ticks under a lease of three",
        "lease, votes, ticks, restarts",
        LeaseBounds(promise=5, lease=3, changes=0, lowered=0),
    ),
)
"""Up to minutes each; `make explore`."""

SCOPES = {each.name: each for each in (*QUICK, *LONG)}
NOTICED = {mutant: each for each in SCOPES.values() for mutant in each.mutants}
"""By mutant, the scope that must notice it."""
