"""Addresses of IPv6, as people write them: in a configuration, and as a target of a command."""

from collections.abc import Callable
from pathlib import Path

import pytest

from admin.lab import founding, next_steps
from qsync.client import targets
from qsync.config.kinds import Address
from qsync.errors import ConfigError

Read = Callable[[str], str]
both = pytest.mark.parametrize("read", [Address.parse, targets.normal], ids=["option", "target"])


@both
@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("[::1]:3301", "[::1]:3301"),
        ("[0:0::1]:5", "[::1]:5"),
        ("[2001:DB8::00a]:5", "[2001:db8::a]:5"),
        ("[fe80::1%eth0]:5", "[fe80::1%eth0]:5"),
        ("[::ffff:1.2.3.4]:5", "[::ffff:1.2.3.4]:5"),
    ],
)
def test_an_address_has_one_spelling(read: Read, text: str, meaning: str) -> None:
    assert read(text) == meaning


@both
@pytest.mark.parametrize(
    "text", ["[::1:3301", "[foo:bar]:1", "[::1]x:1", "[::1%]:1", "a:b:1", "[1.2.3.4:5]:1"]
)
def test_what_is_no_address_is_refused(read: Read, text: str) -> None:
    with pytest.raises((ValueError, ConfigError), match=r"is not an (IPv6 )?address"):
        read(text)


@both
@pytest.mark.parametrize(
    ("text", "meant"), [("::1:13411", "[::1]:13411"), ("fe80::1%eth0:5", "[fe80::1%eth0]:5")]
)
def test_an_address_without_brackets_is_told_with_them(read: Read, text: str, meant: str) -> None:
    with pytest.raises((ValueError, ConfigError), match="write") as failed:
        read(text)
    assert f"write {meant}" in str(failed.value)


@pytest.mark.parametrize(
    ("text", "meant"), [("fd00::1", "[fd00::1]:3301"), ("::1:3301", "[::1]:3301")]
)
def test_an_option_wants_brackets_and_a_port(text: str, meant: str) -> None:
    with pytest.raises(ValueError, match="without brackets") as failed:
        Address.parse(text)
    assert f"write {meant}" in str(failed.value)


@pytest.mark.parametrize("text", ["fd00::1", "[fd00::1]"])
def test_a_target_may_do_without_a_port(text: str) -> None:
    assert targets.normal(text) == "[fd00::1]:3301"


def test_the_next_command_is_printed_as_a_shell_takes_it() -> None:
    *_, join = next_steps.alone(Path("one"), Address("[::1]:3301"), has_secret=False)
    assert "--join '[::1]:3301' " in join


def test_members_of_one_host_get_ports_of_their_own_however_it_is_spelled(tmp_path: Path) -> None:
    made = founding.several(tmp_path, ["[::1]", "[0:0::1]"], {})
    assert [str(each.address) for each in made.members] == ["[::1]:3301", "[::1]:3302"]


@pytest.mark.parametrize(
    ("hosts", "meant"),
    [
        ("[fe80::1%25eth0]:5,[fe80::2%eth1]", ("[fe80::1%eth0]:5", "[fe80::2%eth1]:3301")),
        ("[fe80::1%25]:5", ("[fe80::1%25]:5",)),
    ],
)
def test_a_url_may_write_the_sign_before_a_zone_as_urls_do(
    hosts: str, meant: tuple[str, ...]
) -> None:
    assert targets.parse(f"qsync://{hosts}/").addresses == meant
