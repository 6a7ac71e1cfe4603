"""Findings in one log: by id the number of facts, and the entries that break the invariant."""

from collections import defaultdict

from admin.checker.kernels import proofs
from admin.checker.rules.rule import RuleFinding


class LogFindings:
    """The findings of one log. Entries that prove a breach are named by their index."""

    def __init__(self, node: int, generation: int) -> None:
        self.node = node
        self.generation = generation
        self.by_id: dict[str, RuleFinding] = defaultdict(RuleFinding)

    def count(self, id_: str, facts: int) -> None:
        """Count more examined facts."""
        self.by_id[id_].facts += facts

    def odd(self, id_: str, index: int, message: str, *proof: int | None) -> None:
        """Add an entry that breaks an invariant, and the proving entries, without None."""
        rows = [proofs.entry(self.node, self.generation, at) for at in proof if at is not None]
        self.by_id[id_].broken(id_, message, rows, node=self.node, index=index)
