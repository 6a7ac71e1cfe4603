"""A leader that was replaced stops taking writes, at the latest when its fence says so."""

from admin.checker.kernels.fencing import NANOS, excuse, fence
from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import RunTables, Status

FENCED = "fenced"


def find(run: RunTables) -> RuleFinding:
    """Once a node takes writes in a term, nobody does in a lower one for longer than the fence."""
    limit, why = fence(run.manifest), excuse(run.manifest)
    if limit is None or why:
        return RuleFinding(lacks=why)
    writable = [each for each in run.status if each.ro is False]
    first: dict[int, Status] = {}
    for each in sorted(writable, key=lambda sample: sample.time_mono):
        first.setdefault(each.term, each)
    terms = sorted(first)
    found = RuleFinding(lacks="" if len(terms) > 1 else "no leader was replaced")
    for each in writable if not found.lacks else ():
        newer = next((first[term] for term in terms if term > each.term), None)
        if newer is None:
            continue
        found.facts += 1
        late = each.time_mono - newer.time_mono - int(limit * NANOS)
        if newer.node != each.node and late > 0:
            message = (
                f"node {each.node} takes writes in term {each.term}, {late / NANOS:.3f} s after "
                f"node {newer.node} did in term {newer.term} and the fence of {limit:g} s"
            )
            where = {"node": each.node, "index": each.sample, "term": each.term}
            found.broken(FENCED, message, (newer.shows(), each.shows()), **where)
    return found
