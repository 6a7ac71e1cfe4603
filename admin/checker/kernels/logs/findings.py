"""What kernels find in one log: by id so many facts, and entries that break the invariant."""

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
        """Note that so many more were examined."""
        self.by_id[id_].facts += facts

    def odd(self, id_: str, index: int, message: str, *proof: int | None) -> None:
        """An entry that breaks an invariant, and those that prove it, without who is None."""
        rows = [proofs.entry(self.node, self.generation, at) for at in proof if at is not None]
        self.by_id[id_].broken(id_, message, rows, node=self.node, index=index)
