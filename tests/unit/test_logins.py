"""Who may log in, and how slowly those who guess are served. Time is the test's own."""

from pathlib import Path
from typing import Any

import pytest

from qsync.config.sections import AuditSection, ClusterUsers
from qsync.data.grants import Rights
from qsync.errors import AccessDenied, Overloaded, Unavailable
from qsync.node import guard, logins
from qsync.node.auditing import AuditTrail
from qsync.node.logins import LoginDelays, Logins
from qsync.rights import LOCAL_ADMIN, Grant, GrantedOn, Privilege
from qsync.wire import scram
from qsync.wire.session import Hello, Party

KEPT = scram.kept("correct horse", b"salt", 4096)
LOG_IN = Grant("ann", GrantedOn.UNIVERSE, "", frozenset({Privilege.SESSION, Privilege.USAGE}))
RIGHTS = Rights(
    {"ann": {**KEPT.options(), "certificate": True}, "bob": {}}, (), [LOG_IN], b"k" * 32
)


QUIET = AuditTrail(None, AuditSection(), now=lambda: 0.0, wall=lambda: 0.0, alarm=print)


class Door:
    """A Logins with a clock."""

    def __init__(self, rights: Rights | None = RIGHTS, audit: AuditTrail = QUIET) -> None:
        self.now = 0.0
        self.rights = rights
        self.logins = Logins(lambda: self.rights, secret=bytes, now=lambda: self.now, audit=audit)

    def knock(self, user: str | None = "ann", *, right: bool, address: str = "10.0.0.1") -> None:
        hello = Hello(party=Party.CLIENT, user=user, nonce=bytes(32))
        asked = self.logins.challenge_of(hello, address)
        assert asked is not None
        self.logins.judge(asked, proven=right)


def test_where_there_are_no_users_nobody_is_asked() -> None:
    assert Door(None).logins.challenge_of(Hello(party=Party.CLIENT), "") is None


@pytest.mark.parametrize(
    "hello", [Hello(party=Party.CLIENT), Hello(party=Party.CLIENT, user="ann")]
)
def test_who_does_not_begin_to_log_in_is_told_how(hello: Hello) -> None:
    with pytest.raises(AccessDenied, match="QSYNC_USER"):
        Door().logins.challenge_of(hello, "")


@pytest.mark.parametrize("user", ["ann", "bob", "nobody"])
def test_all_who_fail_hear_the_same(user: str) -> None:
    """A wrong password, a user without one, and nobody at all."""
    with pytest.raises(AccessDenied) as told:
        Door().knock(user, right=False)
    assert told.value.message == logins.WRONG


@pytest.mark.parametrize("user", ["bob", "nobody"])
def test_no_proof_holds_for_who_has_no_password(user: str) -> None:
    with pytest.raises(AccessDenied):
        Door().knock(user, right=True)


def test_who_may_not_log_in_is_refused_though_he_knows_the_password() -> None:
    door = Door(Rights({"ann": KEPT.options()}, (), ()))
    with pytest.raises(AccessDenied, match="lacks the right session"):
        door.knock(right=True)


@pytest.mark.parametrize(
    "auth",
    [{"ann": scram.kept("correct horse", b"pepper", 4096).options()}, {"ann": {}}, {}],
    ids=["another password", "none", "dropped"],
)
def test_a_proof_of_a_password_that_was_changed_meanwhile_is_wrong(auth: dict[str, Any]) -> None:
    """The challenge is out, then the password is changed, then the proof comes."""
    door = Door()
    asked = door.logins.challenge_of(Hello(party=Party.CLIENT, user="ann", nonce=bytes(32)), "")
    assert asked is not None
    door.rights = Rights(auth, (), [LOG_IN], b"k" * 32)
    with pytest.raises(AccessDenied) as told:
        door.logins.judge(asked, proven=True)
    assert told.value.message == logins.WRONG


def test_every_login_that_fails_is_in_the_trail_also_for_a_missing_right(tmp_path: Path) -> None:
    trail = AuditTrail(tmp_path, AuditSection(), now=lambda: 0.0, wall=lambda: 0.0, alarm=print)
    locked_out = Rights({"ann": {**KEPT.options(), "certificate": True}}, (), ())
    door = Door(locked_out, trail)
    with pytest.raises(AccessDenied):
        door.knock(right=False)
    with pytest.raises(AccessDenied):
        door.knock(right=True)
    with pytest.raises(AccessDenied):
        door.logins.certify("ann", "10.0.0.1")
    with pytest.raises(AccessDenied):
        door.logins.certify("nobody", "10.0.0.1")
    told = [(each["user"], each["why"]) for each in trail.latest("login_failed")]
    lacks = "session on the universe"
    assert told == [
        ("ann", logins.WRONG),
        ("ann", lacks),
        ("ann", lacks),
        ("nobody", "certificate"),
    ]


def fail(door: Door, times: int, user: str = "ann", address: str = "10.0.0.1") -> None:
    for _ in range(times):
        with pytest.raises(AccessDenied):
            door.knock(user, right=False, address=address)


def test_after_a_few_failures_a_name_has_to_wait_wherever_it_comes_from() -> None:
    door = Door()
    for number in range(logins.FAILURES_FREE):
        fail(door, 1, address=f"10.0.0.{number}")
    with pytest.raises(Overloaded) as told:
        door.knock(right=True, address="10.0.0.99")
    assert told.value.details["retry_after"] == logins.DELAY_S
    door.now = logins.DELAY_S
    door.knock(right=True, address="10.0.0.99")


def test_after_a_few_failures_an_address_has_to_wait_whatever_names_it_tries() -> None:
    door = Door()
    for number in range(logins.FAILURES_FREE):
        fail(door, 1, user=f"user{number}")
    with pytest.raises(Overloaded):
        door.knock(right=True)
    door.knock(right=True, address="10.0.0.2")


def test_who_was_asked_many_times_at_once_has_no_more_guesses_than_one_after_another() -> None:
    """Each challenge is one guess: those that are out when the others fail are worth nothing."""
    door = Door()
    hello = Hello(party=Party.CLIENT, user="ann", nonce=bytes(32))
    out = [door.logins.challenge_of(hello, f"10.0.0.{n}") for n in range(20)]
    told: list[str] = []
    for number, asked in enumerate(out):
        assert asked is not None
        with pytest.raises((AccessDenied, Overloaded)) as refused:
            door.logins.judge(asked, proven=number >= logins.FAILURES_FREE)
        told.append(refused.value.code)
    assert told == [AccessDenied.code] * logins.FAILURES_FREE + [Overloaded.code] * 15
    door.now = logins.DELAY_S
    door.knock(right=True)


def test_each_failure_more_doubles_the_wait_up_to_a_limit() -> None:
    delays, now, waits = LoginDelays(), 0.0, []
    for _ in range(logins.FAILURES_FREE + 10):
        delays.failed(("x",), now)
        waits.append(delays.wait(("x",), now))
        now += waits[-1]
    assert waits[: logins.FAILURES_FREE] == [*[0.0] * (logins.FAILURES_FREE - 1), logins.DELAY_S]
    assert waits[logins.FAILURES_FREE] == 2 * logins.DELAY_S
    assert waits[-1] == logins.DELAY_S_MAX


def test_success_forgives_the_name_and_not_the_address() -> None:
    door = Door()
    fail(door, logins.FAILURES_FREE - 1)
    door.knock(right=True)
    fail(door, 1)
    door.knock(right=True, address="10.0.0.2")
    with pytest.raises(Overloaded):
        door.knock(right=True)


def test_failures_are_forgotten_after_a_while() -> None:
    door = Door()
    fail(door, logins.FAILURES_FREE)
    door.now = logins.FORGIVEN_S + 1
    fail(door, logins.FAILURES_FREE - 1)
    door.knock(right=True)


def test_only_so_many_names_are_remembered() -> None:
    delays = LoginDelays()
    for _ in range(logins.FAILURES_FREE):
        delays.failed(("first",), 0.0)
    for number in range(logins.KEPT_MAX - 1):
        delays.failed((f"user {number}",), 0.0)
    assert delays.wait(("first",), 0.0) > 0
    delays.failed(("one more",), 0.0)
    assert delays.wait(("first",), 0.0) == 0


def test_where_users_are_required_nobody_comes_in_before_one_is_known() -> None:
    """A node without rows knows of none, whatever its cluster has."""
    door = Door(None)
    door.logins = Logins(
        lambda: door.rights, secret=bytes, now=float, audit=QUIET, users=ClusterUsers.REQUIRED
    )
    with pytest.raises(Unavailable, match="has no users yet"):
        door.knock(right=True)
    with pytest.raises(Unavailable, match="has no users yet"):
        door.logins.certify("ann", "")
    door.rights = RIGHTS
    door.knock(right=True)


def test_while_the_rows_are_made_anew_nobody_s_password_is_called_wrong() -> None:
    """Also of who was asked before: it is no failure, and slows nobody."""
    door = Door()
    asked = door.logins.challenge_of(Hello(party=Party.CLIENT, user="ann", nonce=bytes(32)), "")
    assert asked is not None
    door.rights = guard.UNKNOWN
    for _ in range(2 * logins.FAILURES_FREE):
        with pytest.raises(Unavailable, match="rebuilds its rows"):
            door.knock(right=True)
        with pytest.raises(Unavailable, match="rebuilds its rows"):
            door.logins.judge(asked, proven=True)
        with pytest.raises(Unavailable, match="rebuilds its rows"):
            door.logins.certify("ann", "")
    door.rights = RIGHTS
    door.knock(right=True)


@pytest.mark.parametrize(
    ("auth", "password", "stays"),
    [
        ({"stored": b"new"}, b"new", True),
        ({"stored": b"new"}, b"old", False),
        ({"stored": b"new", "certificate": True}, b"old", False),
        ({"certificate": True}, b"", True),
        ({"certificate": False, "stored": b"new"}, b"", False),
    ],
    ids=["password", "another password", "another, and a certificate", "certificate", "refused"],
)
def test_a_connection_stays_while_what_it_came_in_with_is_good(
    auth: dict[str, object], password: bytes, *, stays: bool
) -> None:
    rights = Rights({"ann": auth}, (), [LOG_IN])
    assert guard.may_stay(rights, "ann", password) == stays
    assert guard.may_stay(rights, LOCAL_ADMIN, b"")
    assert not guard.may_stay(rights, "bob", password)
    assert not guard.may_stay(Rights({"ann": auth}, (), ()), "ann", password), "it may not log in"


def test_a_certificate_logs_in_where_the_user_allows_it() -> None:
    door = Door()
    door.logins.certify("ann", "")
    Door(None).logins.certify("nobody", "")
    for user in ("bob", "nobody"):
        with pytest.raises(AccessDenied, match="certificate") as refused:
            door.logins.certify(user, "")
        assert f"qsync user certificate {user} --allow" in refused.value.hint


@pytest.mark.parametrize(("user", "hint"), [("cid", "qsync user create"), ("admin", "no user can")])
def test_who_has_a_certificate_of_no_user_is_told_what_helps(user: str, hint: str) -> None:
    with pytest.raises(AccessDenied) as refused:
        Door().logins.certify(user, "")
    assert hint in (refused.value.hint or "")
