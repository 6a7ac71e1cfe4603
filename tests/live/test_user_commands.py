"""Users and roles as an operator has them: `qsync user`, `qsync role`, and the shell's words."""

import io
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.main import run
from qsync.client.local_sockets import VARIABLE
from qsync.client.login import ACTING
from qsync.client.security import PASSWORD, PASSWORD_FILE, USER
from tests import typed
from tests.live import real

pytestmark = pytest.mark.slow
ROOT_PASSWORD = "correct horse"
ROOT = {USER: "root", PASSWORD: ROOT_PASSWORD}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A cluster of one with a space, and `root`, who was made by the command; its directory."""
    directory = tmp_path_factory.mktemp("users")
    secret = directory / "secret"
    secret.write_text(ROOT_PASSWORD + "\n")
    with real.running(directory / "lab", nodes=1) as found, pytest.MonkeyPatch.context() as patch:
        for name in (USER, PASSWORD, PASSWORD_FILE):
            patch.delenv(name, raising=False)
        address = found.addresses[0]
        made = "box.schema.space.create('stock', {is_sync = true}):create_index('pk')"
        assert run(["-e", made, address]) == 0
        assert run(["user", "create", "root", "--password-file", str(secret), "-t", address]) == 0
        yield address, directory / "lab" / "n1"


@pytest.fixture(scope="module")
def target(place: tuple[str, Path]) -> str:
    """Its address."""
    return place[0]


class Operator:
    """Runs commands as a user, and keeps their output."""

    def __init__(self, target: str, capsys: pytest.CaptureFixture[str]) -> None:
        self.target = target
        self._capsys = capsys
        self.err = ""

    def __call__(self, *args: str, as_: dict[str, str] | None = None, code: int = 0) -> str:
        self._capsys.readouterr()
        with pytest.MonkeyPatch.context() as patch:
            for name in (USER, PASSWORD, PASSWORD_FILE):
                patch.delenv(name, raising=False)
            patch.setenv(VARIABLE, "")
            patch.setenv(ACTING, "")
            for name, text in (ROOT if as_ is None else as_).items():
                patch.setenv(name, text)
            found = run([*args, "--target", self.target])
        printed = self._capsys.readouterr()
        self.err = printed.err
        assert found == code, printed
        return printed.out

    def told(self, *args: str) -> dict[str, object]:
        found: dict[str, object] = json.loads(self(*args, "--json"))
        return found

    def lua(self, line: str, as_: dict[str, str] | None = None, code: int = 0) -> str:
        return self("shell", "-e", line, as_=as_, code=code).strip()


@pytest.fixture
def operator(target: str, capsys: pytest.CaptureFixture[str]) -> Operator:
    return Operator(target, capsys)


def test_the_first_user_may_do_everything_and_nobody_comes_in_without(operator: Operator) -> None:
    assert operator("user", "show") == "root: session, super, usage; by roles super\n"
    operator("user", "show", as_={}, code=4)
    assert "QSYNC_USER" in operator.err
    for command in ("status", "doctor"):
        operator(command, as_={}, code=4)
        assert "no node lets us ask" in operator.err
        assert "do the nodes run" not in operator.err
    operator("user", "show", as_={USER: "root", PASSWORD: "wrong horse"}, code=4)


def test_the_owner_of_a_nodes_directory_needs_no_password(
    place: tuple[str, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Named as the socket or the directory, or by being there: every command comes in by it."""
    owner = Operator(f"unix:{place[1]}/qsync.sock", capsys)
    assert owner("user", "show", as_={}).startswith("admin: super")
    assert "Healthy" in owner("status", as_={})
    assert "admin" in owner.lua("return box.session.user()", as_={})
    owner.target = str(place[1])
    owner("replace", "stock", "[5, 6]", as_={})
    owner.target = f"unix:{place[1]}/identity.json"
    owner("status", as_={}, code=3)
    assert "is no socket" in owner.err
    owner.target = f"unix:{place[1]}/none"
    owner("status", as_={}, code=3)
    assert "no node runs in that directory" in owner.err
    monkeypatch.chdir(place[1])
    monkeypatch.setenv(VARIABLE, "")
    capsys.readouterr()
    assert run(["user", "show"]) == 0
    assert capsys.readouterr().out.startswith("admin: super")
    assert run(["log", "cat", str(place[1]), "--count", "1"]) == 0, "though its node runs"
    assert "t1" in capsys.readouterr().out


def test_a_user_is_made_granted_to_deprived_and_dropped(operator: Operator) -> None:
    assert operator.told("user", "create", "ann", "--generate", "--dry-run")["would"]
    made = operator.told("user", "create", "ann", "--generate")
    ann = {USER: "ann", PASSWORD: str(made["password"])}
    assert len(ann[PASSWORD]) >= 20
    operator("user", "create", "ann", "--generate", code=1)
    again = operator.told("user", "create", "ann", "--generate", "--if-not-exists")
    assert (again["created"], again.get("password")) == (False, None), "it would not hold"
    operator("user", "create", "ann", "--dry-run")
    assert "there already" in operator.err
    operator("get", "stock", "1", as_=ann, code=4)
    operator("user", "grant", "ann", "read,write", "--space", "st*", "--dry-run")
    operator("get", "stock", "1", as_=ann, code=4)
    operator("user", "grant", "ann", "read,write", "--space", "st*")
    assert "no space" not in operator.err
    assert "stok" in str(operator.told("user", "grant", "ann", "read", "--space", "stok")["note"])
    for verb, more in (
        ("grant", "--dry-run"),
        ("grant", "--space=stok"),
        ("revoke", "--space=stok"),
    ):
        operator("user", verb, "ann", "read", "--space", "stok", more)
        assert ('(did you mean "stock"?)' in operator.err) is (verb == "grant")
    operator("user", "grant", "ann", "create", "--space", "new")
    assert "no space" not in operator.err
    operator("user", "revoke", "ann", "create", "--space", "new")
    operator("replace", "stock", "[1, 2]", as_=ann)
    operator("user", "revoke", "ann", "write", "--space", "st*")
    operator("replace", "stock", "[1, 3]", as_=ann, code=4)
    assert "write" in operator.err
    assert operator("user", "list").splitlines()[0].startswith("ann")
    operator("user", "drop", "ann", "--dry-run")
    operator("user", "drop", "ann")
    operator("user", "drop", "ann", "--if-exists")
    operator("user", "drop", "ann", code=1)
    operator("user", "show", as_=ann, code=4)


def test_a_role_gives_what_it_has_and_goes_from_those_who_have_it(operator: Operator) -> None:
    operator("user", "create", "bob", "--no-password")
    operator("role", "create", "clerk")
    operator("role", "grant", "clerk", "read", "--space", "stock")
    operator("user", "grant", "bob", "--role", "clerk")
    assert operator("user", "show", "bob") == "bob: session, usage; stock: read; by roles clerk\n"
    assert operator("role", "show", "clerk") == "clerk: stock: read\n"
    assert {"clerk", "super", "reader"} <= {*map(str, _names(operator, "role"))}
    operator("role", "drop", "clerk", "--dry-run")
    operator("role", "drop", "clerk")
    assert operator("user", "show", "bob") == "bob: session, usage\n"
    operator("user", "certificate", "bob", "--refuse")
    assert _names(operator, "user")["bob"]


def test_who_drops_the_last_user_who_may_do_everything_is_told(operator: Operator) -> None:
    operator("user", "drop", "root", "--dry-run")
    assert "no other user may do everything: only the owner of a node's" in operator.err
    operator("user", "create", "eve", "--no-password")
    operator("user", "grant", "eve", "--role", "super")
    operator("user", "drop", "root", "--dry-run")
    assert "no other user" not in operator.err
    operator("user", "drop", "eve")
    assert operator.err == "user eve is gone\n"


def test_the_last_user_who_may_do_everything_is_dropped_only_on_purpose(operator: Operator) -> None:
    operator("role", "create", "owner")
    operator("role", "grant", "owner", "--role", "super")
    operator("user", "grant", "root", "--role", "owner")
    operator("user", "revoke", "root", "--role", "super")
    for last in (
        ("user", "drop", "root"),
        ("user", "revoke", "root", "--role", "owner"),
        ("role", "revoke", "owner", "--role", "super"),
        ("role", "drop", "owner"),
    ):
        operator(*last, code=7)
        assert "not confirmed, so nothing was changed; no other user may do" in operator.err
    operator("user", "grant", "root", "--role", "super")
    operator("role", "drop", "owner")
    assert operator("user", "show") == "root: session, super, usage; by roles super\n"


def test_who_takes_it_from_the_last_user_who_may_do_everything_is_told(operator: Operator) -> None:
    operator("role", "create", "owner")
    operator("role", "grant", "owner", "--role", "super")
    lasts = [
        ("user", "revoke", "root", "--role", "super", "--dry-run"),
        ("user", "revoke", "root", "session", "--dry-run"),
    ]
    for last in lasts:
        operator(*last)
        assert "no other user may do everything" in operator.err
    operator("user", "grant", "root", "--role", "owner")
    operator("user", "revoke", "root", "--role", "super")
    assert operator.err == "root is deprived of role super\n"
    for last in (
        ("user", "revoke", "root", "--role", "owner", "--dry-run"),
        ("role", "revoke", "owner", "--role", "super", "--dry-run"),
        ("role", "drop", "owner", "--dry-run"),
    ):
        operator(*last)
        assert "no other user may do everything" in operator.err
    operator("user", "revoke", "root", "read", "--dry-run")
    assert "no other user" not in operator.err
    operator("user", "grant", "root", "--role", "super")
    operator("role", "drop", "owner")
    assert operator.err == "role owner is gone\n"


def test_who_may_not_change_users_hears_of_the_right_for_that(operator: Operator) -> None:
    """Each of these commands looks at the users first, which takes another right."""
    operator("user", "create", "gil", "--no-password")
    as_gil = {USER: "gil", PASSWORD: "gil's password"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", io.StringIO(f"{as_gil[PASSWORD]}\n"))
        operator("user", "passwd", "gil", "--password-file", "-")
    for command in (
        ("user", "create", "hal"),
        ("user", "create", "hal", "--generate", "--dry-run"),
        ("user", "drop", "gil"),
        ("role", "drop", "reader", "--dry-run"),
        ("user", "grant", "gil", "--role", "super"),
        ("user", "revoke", "root", "--role", "super"),
    ):
        operator(*command, as_=as_gil, code=4)
        assert "user 'gil' lacks the right super on the universe" in operator.err
    operator("user", "drop", "gil")


def _names(operator: Operator, kind: str) -> dict[str, object]:
    found = operator.told(kind, "list")[f"{kind}s"]
    assert isinstance(found, dict)
    return found


def test_a_password_is_changed_by_its_owner_from_a_file_or_standard_input(
    operator: Operator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("first password\n"))
    operator("user", "create", "cid", "--password-file", "-")
    cid = {USER: "cid", PASSWORD: "first password"}
    file = tmp_path / "new"
    file.write_text("second password\n")
    operator("user", "passwd", "--password-file", str(file), as_=cid)
    operator("user", "show", as_=cid, code=4)
    cid = {USER: "cid", PASSWORD_FILE: str(file)}
    assert operator("user", "show", as_=cid).startswith("cid: ")
    operator("user", "passwd", "root", "--password-file", str(file), as_=cid, code=4)
    operator("user", "create", "dan", "--password-file", str(tmp_path / "none"), code=1)
    operator("user", "create", "dan", code=2)
    operator("user", "create", "dan", "--password-file", os.devnull, code=2)
    operator("user", "grant", "cid", code=2)


def test_the_shell_has_the_words_for_users_and_roles(operator: Operator) -> None:
    lua = operator.lua
    lua("box.schema.user.create('eva', {password = 'eva password'})")
    eva = {USER: "eva", PASSWORD: "eva password"}
    lua("box.schema.user.create('eva', {if_not_exists = true})")
    lua("box.schema.role.create('keeper')")
    lua("box.schema.role.grant('keeper', 'read,write', 'space', 'stock')")
    lua("box.schema.user.grant('eva', 'keeper')")
    assert "keeper" in lua("return box.schema.user.info('eva')")
    assert "eva" in lua("return box.session.user()", as_=eva)
    lua("box.space.stock:replace{7, 'seven'}", as_=eva)
    lua("box.schema.user.grant('eva', 'super', 'universe')", as_=eva, code=4)
    lua("box.schema.role.revoke('keeper', 'write', 'space', 'stock')")
    lua("box.space.stock:replace{7, 'eight'}", as_=eva, code=4)
    assert lua("box.session.su('eva'); return box.session.user()") == lua(
        "return box.session.su('eva', box.session.effective_user)"
    )
    lua("box.session.su('eva'); box.schema.user.create('fay')", code=4)
    assert "eva" in operator.err
    as_her = "box.session.su('eva', error, 'not this'); "
    assert "root" in lua(f"pcall(function() {as_her}end); return box.session.user()")
    lua("box.session.su('root')", as_=eva, code=4)
    lua("box.session.su('nobody')", code=4)
    lua("box.begin(); box.session.su('eva')", code=4)
    lua("box.schema.user.passwd('eva again')", as_=eva)
    eva[PASSWORD] = "eva again"
    assert "seven" in lua("return box.space.stock:get(7)", as_=eva)
    lua("box.schema.user.revoke('eva', 'keeper')")
    lua("box.space.stock:get(7)", as_=eva, code=1)
    assert "there is no space 'stock'" in operator.err  # it is not hers to know of
    assert "true" in lua("return box.schema.role.exists('keeper')")
    lua("box.schema.role.drop('keeper')")
    assert "false" in lua("return box.schema.role.exists('keeper')")
    lua("box.schema.user.drop('eva')")
    assert "eva" not in lua("return box.schema.user.list()")
    lua("box.schema.user.grant('eva', 'read', 'moon')", code=1)


def test_a_cluster_whose_last_user_is_gone_is_not_called_open(tmp_path: Path) -> None:
    with real.running(tmp_path / "lab", nodes=1) as found:
        own = ["--target", str(found.nodes[0].dir)]
        locked_out = typed.run("user", "create", "root", "--no-password", *own)
        assert (locked_out.code, "without TLS no cert" in locked_out.stderr) == (7, True)
        assert typed.run("user", "create", "root", "--no-password", "--yes", *own).code == 0
        dropped = typed.run("user", "drop", "root", "--yes", *own)
        assert (dropped.code, "no other user may" in dropped.stderr) == (0, True)
        assert "no user is left" in typed.run("user", "list", *own).stderr
