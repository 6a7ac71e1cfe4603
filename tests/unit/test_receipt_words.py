"""What a data command says of a write that was committed."""

import click
import pytest

from cli.commands import data
from cli.output import Style
from election.messages import Index, Term
from qsync.client.rows import Receipt
from qsync.record import Lsn


@pytest.mark.parametrize(("acks", "said"), [(1, "1 ack, "), (2, "2 acks, ")])
def test_one_ack_is_no_acks(acks: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    receipt = Receipt(term=Term(1), index=Index(9), lsn=Lsn(9), acks=acks, seconds=0.01)
    with click.Context(click.Command("insert"), obj=Style()).scope():
        data._tell(receipt)
    assert capsys.readouterr().err == f"committed: term 1, index 9, {said}10.0 ms\n"
