"""Verdicts on incomplete tables: a violation stays a violation, a pass becomes unknown."""

from admin.checker.kernels.disks import QUORUM
from admin.checker.rules.rule import Rule, RuleFinding
from admin.evidence.manifest import Manifest, NodeFacts
from admin.evidence.tables import WAL

EVENTS = "events"


def weigh(rule: Rule, finding: RuleFinding, manifest: Manifest) -> RuleFinding:
    """The finding, with the gaps that the manifest states for its tables."""
    tables = list(rule.needs)
    if rule.id == QUORUM:  # it has no table of its own: without events it reads logs
        tables.append(EVENTS if manifest.rows.get(EVENTS) else WAL.name)
    whys = [manifest.gaps[name] for name in tables if name in manifest.gaps]
    seen = finding.facts or finding.breaches or finding.doubt
    absent = [name for name in rule.needs if not manifest.rows.get(name)]
    if not seen and not finding.lacks:
        finding.lacks = rule.excuse(manifest)
    if not seen and absent:
        finding.lacks = f"nothing in {' and '.join(absent)}"
    if whys and finding.lacks:
        finding.lacks = "; ".join(whys)
    elif not seen and manifest.left_out and EVENTS in rule.needs:
        finding.lacks = f"{finding.lacks or rule.idle}; {manifest.left_out}"
    elif whys and not finding.doubt:
        finding.doubt = "; ".join(whys)
    if WAL.name in rule.needs:
        finding.reach = trimmed(manifest)
    return finding


def trimmed(manifest: Manifest) -> str:
    """The examined range of trimmed logs; empty if all logs begin with the first entry."""
    begins = [
        f"{each.name or each.node} at {each.first}" for each in manifest.nodes if _is_short(each)
    ]
    return f"logs were trimmed and begin later: {', '.join(begins)}" if begins else ""


def _is_short(node: NodeFacts) -> bool:
    return node.last >= node.first > 1
