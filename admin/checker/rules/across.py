"""What the logs of several nodes have in common: places, fates, leaders, and what was confirmed."""

from admin.checker.rules.fates import Fates, replay
from admin.checker.rules.rule import Breach, Finding, Rule
from admin.checker.rules.run import CONFIRM, PROMOTE, Run, Whose


def matching(run: Run) -> Finding:
    """Entries of equal index and term are equal, and so is everything before them."""
    found = Finding(lacks="" if len(run.logs) > 1 else "only one log")
    known: dict[tuple[int, int], tuple[int, int]] = {}
    broken: set[tuple[int, int]] = set()
    for log in run.logs.values() if not found.lacks else ():
        for index, term, crc in zip(log.index, log.term, log.crc, strict=True):
            other, before = known.setdefault((index, term), (log.node, crc))
            found.facts += 1
            if before != crc and (index, term) not in broken:
                broken.add((index, term))
                message = (
                    f"nodes {other} and {log.node} have different entries at {index} of term {term}"
                )
                found.breaches.append(
                    Breach(invariant=MATCHING, message=message, index=index, term=term)
                )
    return found


def agreement(run: Run) -> Finding:
    """What two nodes have confirmed is the same entry with the same fate."""
    found = Finding(lacks="" if len(run.logs) > 1 else "only one log")
    known: dict[int, tuple[int, int, bool]] = {}
    broken: set[int] = set()
    confirmed = run.confirmed
    for whose, log in run.logs.items() if not found.lacks else ():
        upto = confirmed.get(whose, 0)
        fates = replay(log, upto) if log.first == 1 else Fates()
        for index, term in zip(log.index, log.term, strict=True):
            if index > upto:
                break
            here = (log.node, term, index in fates.rolled_back_by)
            other = known.setdefault(index, here)
            found.facts += 1
            if other[1:] != here[1:] and index not in broken:
                broken.add(index)
                message = f"entry {index} is {_told(other)}, but {_told(here)}"
                found.breaches.append(Breach(invariant=AGREEMENT, message=message, index=index))
    return found


def one_leader(run: Run) -> Finding:
    """A term has one leader: in logs, in what nodes say of themselves, in events."""
    found = Finding()
    known: dict[int, int] = {}
    broken: set[int] = set()
    claims = [
        (term, origin, f"a PROMOTE of {origin}")
        for log in run.logs.values()
        for kind, term, origin in zip(log.kind, log.term, log.origin, strict=True)
        if kind == PROMOTE
    ]
    claims += [(s.term, s.node, f"node {s.node} says so") for s in run.status if s.role == "leader"]
    claims += [(e.term, e.node, f"node {e.node} led") for e in run.events if e.name == "leads"]
    for term, leader, how in claims:
        found.facts += 1
        before = known.setdefault(term, leader)
        if before != leader and term not in broken:
            broken.add(term)
            message = f"term {term} has two leaders, {before} and {leader} ({how})"
            found.breaches.append(Breach(invariant=ONE_LEADER, message=message, term=term))
    return found


def completeness(run: Run) -> Finding:
    """Whoever leads a term has in its log everything that was confirmed in earlier terms."""
    found = Finding()
    reached = _confirmed_in(run)
    for log in run.logs.values():
        at = log.at()
        for place, kind in enumerate(log.kind):
            if kind != PROMOTE:
                continue
            index, term = log.index[place], log.term[place]
            earlier = [(e, i, t) for e, (i, t) in reached.items() if e < term]
            found.facts += len(earlier)
            for era, entry, its_term in earlier:
                if entry < log.first:
                    continue
                here = at.get(entry)
                if entry >= index or here is None or log.term[here] != its_term:
                    message = (
                        f"the leader of term {term} (PROMOTE at {index} in the log of node "
                        f"{log.node}) lacks entry {entry} of term {its_term}, confirmed in {era}"
                    )
                    found.breaches.append(
                        Breach(
                            invariant=COMPLETENESS,
                            message=message,
                            node=log.node,
                            term=term,
                            index=entry,
                        )
                    )
    return found


def kept(run: Run) -> Finding:
    """What a node once had on its disk and confirmed is still in its log."""
    found = Finding()
    for whose, upto in run.safe.items():
        log = run.logs.get(whose)
        if upto == 0 or (log is None and not run.logs):
            continue
        found.facts += 1
        last = log.last if log is not None else 0
        if last < upto:
            message = f"node {whose[0]} had confirmed {upto}, its log ends at {last}"
            found.breaches.append(
                Breach(invariant=KEPT, message=message, node=whose[0], index=upto)
            )
    return found


def _confirmed_in(run: Run) -> dict[int, tuple[int, int]]:
    """By term of the record: the last entry, and its term, that a CONFIRM of that term covers.

    Only records that are themselves confirmed count; a log may end in what is to be cut.
    """
    reached: dict[int, tuple[int, int]] = {}
    confirmed: dict[Whose, int] = run.confirmed
    for whose, log in run.logs.items():
        places: dict[tuple[int, int], tuple[int, int]] = {}
        for place, index in enumerate(log.index):
            if index > confirmed.get(whose, 0):
                break
            term, ref = log.term[place], log.ref[place]
            places[log.origin[place], log.lsn[place]] = (index, term)
            named = places.get(ref) if ref is not None and log.kind[place] == CONFIRM else None
            if named is not None:
                reached[term] = max(reached.get(term, (0, 0)), named)
    return reached


def _told(what: tuple[int, int, bool]) -> str:
    node, term, rolled_back = what
    return f"{'rolled back' if rolled_back else 'confirmed'} on node {node} with term {term}"


MATCHING, AGREEMENT, ONE_LEADER = "log-matching", "confirmed-agree", "one-leader"
COMPLETENESS, KEPT = "leader-complete", "confirmed-kept"
RULES = (
    Rule(MATCHING, "equal index and term mean equal entries", ("wal",), matching),
    Rule(AGREEMENT, "what is confirmed is the same everywhere", ("wal",), agreement),
    Rule(ONE_LEADER, "a term has at most one leader", (), one_leader),
    Rule(COMPLETENESS, "leaders have everything confirmed before", ("wal",), completeness),
    Rule(KEPT, "what was confirmed stays in the log", ("wal",), kept),
)
