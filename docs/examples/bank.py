"""A bank: money moves between accounts of two spaces, in one transaction, blocking.

python docs/examples/bank.py 127.0.0.1:3301
"""

import sys
from collections.abc import Sequence
from typing import NamedTuple

import qsync

SPACES = ("checking", "savings")


class Account(NamedTuple):
    """A row of both spaces: the fields of their format, in its order."""

    owner: str
    balance: int


def open_accounts(db: qsync.Client, *, people: Sequence[str], amount: int) -> None:
    """Everybody gets the same in both spaces."""
    for name in SPACES:
        db.schema.create_space(
            name,
            is_sync=True,
            if_not_exists=True,
            format=[("owner", "string"), ("balance", "unsigned")],
        )
        accounts = db.space(name, row=Account)
        accounts.replace_many([Account(person, amount) for person in people])


def transfer(db: qsync.Client, *, source: str, target: str, amount: int) -> bool:
    """From checking to savings, of whomever; False when there is not enough.

    `atomic` runs the function again when somebody else changed what it had read; the transfer
    itself happens once, however often it was repeated on the way.
    """

    def move(tx: qsync.Transaction) -> bool:
        found = tx.space("checking", row=Account).get(source)
        if found is None or found.balance < amount:
            return False
        tx.space("checking").update(source, [("-", "balance", amount)])
        tx.space("savings").update(target, [("+", "balance", amount)])
        return True

    return db.atomic(move)


def total(db: qsync.Client) -> int:
    """All the money, at one moment."""
    with db.transaction() as tx:
        accounts = [tx.space(name, row=Account) for name in SPACES]
        return sum(each.balance for space in accounts for each in space.select())


def main(target: str | Sequence[str]) -> None:
    """Open accounts, move money, look whether any was made or lost."""
    with qsync.connect(target) as db:
        open_accounts(db, people=["ann", "bob"], amount=100)
        print("ann to bob, 30:", transfer(db, source="ann", target="bob", amount=30))
        print("bob to ann, 500:", transfer(db, source="bob", target="ann", amount=500))
        print("total:", total(db))


if __name__ == "__main__":
    main(sys.argv[1:] or "127.0.0.1:3301")
