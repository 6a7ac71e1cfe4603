"""What `qsync user` says of rights."""

import pytest

from cli.render.rights import names_nothing, words_if_alone, words_if_plain

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


def one(*ways: str, able: bool = True) -> dict[str, object]:
    """A user, as a node tells of it."""
    granted: list[object] = [["universe", "", ["session", "usage"]]]
    granted += [["role", "super", ["usage"]]] if able else []
    return {"kind": "user", "logs_in_by": list(ways), "granted": granted}


@pytest.mark.parametrize(
    ("others", "alone"),
    [
        ({}, True),
        ({"ann": one("certificate", able=False)}, True),
        ({"ann": one()}, True),
        ({"ann": one("password")}, False),
    ],
)
def test_who_cannot_log_in_counts_for_nothing_among_those_who_may_do_everything(
    others: dict[str, object], alone: bool
) -> None:
    role = {"super": {"kind": "role", "granted": []}}
    known = {"root": one("certificate"), **others, **role}
    assert not words_if_alone(known)
    assert bool(words_if_alone(known, refused="root")) is alone
    assert bool(words_if_alone(known, dropped="root")) is alone
    assert not words_if_alone({"root": one("certificate", "password"), **role}, refused="root")


def test_a_first_user_without_a_password_comes_in_over_tls_only() -> None:
    assert not words_if_plain({"tls": {"on": True}})
    assert "without TLS no certificate logs in" in words_if_plain({"tls": {"on": False}})
