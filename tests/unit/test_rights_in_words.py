"""What `qsync user` says of rights."""

import pytest

from cli.render.rights import names_nothing

KNOWN = ("_space", "stock", "orders.1", "numbers")


@pytest.mark.parametrize("granted", ["stock", "orders.*", "_space", "n*", "numbers"])
def test_nothing_is_said_of_a_grant_on_what_is_there(granted: str) -> None:
    assert names_nothing(granted, KNOWN) is None


@pytest.mark.parametrize(
    ("granted", "said"),
    [
        ("stok", 'named stok: the right counts once there is one (did you mean "stock"?)'),
        (
            "zoo",
            "named zoo: the right counts once there is one (there are stock, orders.1, numbers",
        ),
        ("stock.*", "whose name begins with stock.: the right counts once there is one (did you"),
    ],
)
def test_who_grants_on_a_name_that_nothing_has_is_told(granted: str, said: str) -> None:
    """Rights belong to names, so it is no mistake; but most often it is a misspelt name."""
    assert f"there is no space or sequence {said}" in str(names_nothing(granted, KNOWN))
