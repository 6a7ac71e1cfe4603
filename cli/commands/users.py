"""`qsync user` and `qsync role`: who may log in, and what they may do."""

import shlex
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import click

from cli.agreeing import check_agreed, yes_option
from cli.examples import examples
from cli.new_passwords import check_one_source, new_password
from cli.options import cluster_options, dry_run_option
from cli.output import document, say, style, text
from cli.render.rights import (
    EVERY_CLIENT,
    creation_in_words,
    in_words,
    universal_grant,
    words_if_alone,
    words_if_plain,
    words_of_consumers,
)
from cli.under_way import AGAIN, change_under_way
from cli.user_connections import changing, check_last, connected, known_of, note_on
from qsync.errors import WrongOperation

P = ParamSpec("P")
R = TypeVar("R")
_common = cluster_options("10s")
_dry_run = dry_run_option("what would be done")
_OPEN = "this cluster has no users: every client may do everything"
_CLOSED = "no user is left: only the owner of a node's directory comes in, by the socket there"


@click.group(
    epilog=examples("qsync user create ann", "qsync user grant ann read,write --space 'orders.*'")
)
def user() -> None:
    """Manage users, their passwords and their privileges.

    The first user that is created has the role super, and from then on every client must log in:
    QSYNC_USER and QSYNC_PASSWORD (or QSYNC_PASSWORD_FILE) say as whom. Keep that first password.
    """


@click.group(epilog=examples("qsync role create clerk", "qsync role grant clerk read --space a"))
def role() -> None:
    """Manage roles: named sets of privileges that are granted to users."""


def _password_options(command: Callable[P, R]) -> Callable[P, R]:
    for option in (
        click.option(
            "--password-file",
            metavar="FILE",
            help="Read the password from FILE; `-` is standard input. [default: ask for it]",
        ),
        click.option("--generate", is_flag=True, help="Generate a password, and print it once."),
    ):
        command = option(command)
    return command


def _list(kind: str, target: list[str], timeout: float) -> None:
    with connected(target, timeout) as db:
        found = known_of(db, kind)
        is_open = not db.users.info().get("users")
    if style().as_json:
        document(f"{kind}s", **{f"{kind}s": found})
        return
    if not found:
        say(_OPEN if is_open else _CLOSED)
    for name, one in found.items():
        text(f"{name:<20} {in_words(one)}".rstrip())


@user.command("list", epilog="Example: qsync user list --json")
@_common
def list_users(*, target: list[str], timeout: float) -> None:
    """List the users, how they log in, and what they may do."""
    _list("user", target, timeout)


@role.command("list", epilog="Example: qsync role list")
@_common
def list_roles(*, target: list[str], timeout: float) -> None:
    """List the roles, built-in ones included, with their privileges."""
    _list("role", target, timeout)


def _show(name: str | None, target: list[str], timeout: float) -> None:
    with connected(target, timeout) as db:
        found = db.users.info(name)
    if style().as_json:
        document("rights", **found)
        return
    if not found.get("users"):
        say(_OPEN)
        return
    text(f"{found.get('name')}: {in_words(found)}")


@user.command("show", epilog="Example: qsync user show ann")
@click.argument("name", required=False)
@_common
def show_user(*, name: str | None, target: list[str], timeout: float) -> None:
    """Show the privileges of NAME; without it, of the current user."""
    _show(name, target, timeout)


@role.command("show", epilog="Example: qsync role show clerk")
@click.argument("name")
@_common
def show_role(*, name: str, target: list[str], timeout: float) -> None:
    """Show the privileges of a role."""
    _show(name, target, timeout)


@user.command(epilog="Example: qsync user create ann --password-file ann.txt")
@click.argument("name")
@_password_options
@click.option("--no-password", is_flag=True, help="Log in by certificate only.")
@click.option("--if-not-exists", is_flag=True, help="Succeed if it exists already.")
@yes_option
@_dry_run
@_common
def create(
    *,
    name: str,
    password_file: str | None,
    generate: bool,
    no_password: bool,
    if_not_exists: bool,
    yes: bool,
    dry_run: bool,
    target: list[str],
    timeout: float,
) -> None:
    """Create a user, with a password that is typed, read from a file, or generated.

    Asks first if it is the first one and could not log in: without a password, and without TLS.
    """
    check_one_source(password_file, generate=generate, without=no_password)
    with changing(target, timeout) as db:
        known = known_of(db, "user")
        first = not db.users.info().get("users")
        alone = words_if_plain(db.status()) if first and no_password else ""
        if dry_run:
            would = creation_in_words(name, first=first, known=name in known)
            _would("create", name, f"{would}{alone}")
            return
        if alone:
            check_agreed(f"user {name} would be there{alone}. Go on?", yes=yes, why=alone)
        if if_not_exists and name in known:
            stays = f"user {name} was there already, and keeps its password"
            _did("create", name, stays, created=False, first=False)
            return
        password = None if no_password else new_password(name, password_file, generate=generate)
        # A password that is printed must be the one that holds.
        lost = f"if it is there, `qsync user passwd {name} --generate` gives it another password"
        with change_under_way("user list", hint=lost if generate else ""):
            db.users.create(name, password, if_not_exists=if_not_exists and not generate)
    generated = password if generate else None
    _did("create", name, f"user {name} is there", created=True, password=generated, first=first)
    if first:
        say(f"it is the first user and may do everything; from now on {EVERY_CLIENT}")


@user.command(epilog="Example: qsync user passwd ann --generate")
@click.argument("name", required=False)
@_password_options
@_common
def passwd(
    *,
    name: str | None,
    password_file: str | None,
    generate: bool,
    target: list[str],
    timeout: float,
) -> None:
    """Change your own password, or with role super that of NAME."""
    check_one_source(password_file, generate=generate)
    with connected(target, timeout) as db:
        who = name or db.users.info().get("user")
        if not isinstance(who, str):
            raise WrongOperation("this cluster has no users yet")
        password = new_password(who, password_file, generate=generate)
        with change_under_way(hint=AGAIN):
            db.users.set_password(who, password)
    generated = password if generate else None
    _did("passwd", who, f"user {who} has another password", password=generated)


@user.command(epilog="Example: qsync user certificate ann --refuse")
@click.argument("name")
@click.option("--allow/--refuse", required=True, help="May a certificate of that name log in?")
@yes_option
@_common
def certificate(*, name: str, allow: bool, yes: bool, target: list[str], timeout: float) -> None:
    """Allow or refuse to log NAME in by a certificate of the cluster's authority.

    Asks first if then nobody can log in who may do everything.
    """
    with changing(target, timeout) as db:
        alone = "" if allow else words_if_alone(db.users.list(), refused=name)
        check_last(db, alone, f"a certificate of {name} would not log in", yes=yes)
        with change_under_way(hint=AGAIN):
            db.users.allow_certificate(name, allow=allow)
    word = "logs in" if allow else "does not log in"
    _did("certificate", name, f"a certificate of {name} {word}{alone}")


@user.command("drop", epilog="Example: qsync user drop ann --dry-run")
@click.argument("name")
@click.option("--if-exists", is_flag=True, help="Succeed if it does not exist.")
@yes_option
@_dry_run
@_common
def drop_user(
    *, name: str, if_exists: bool, yes: bool, dry_run: bool, target: list[str], timeout: float
) -> None:
    """Drop a user and its privileges; its connections end within a second.

    Asks first if it is the last one that may do everything.
    Consumers of the log that belong to it stay, and belong to `admin`.
    """
    with changing(target, timeout) as db:
        alone = words_if_alone(db.users.list(), dropped=name)
        left = words_of_consumers(db.status(), name)
        if dry_run:
            has = in_words(db.users.info(name))
            _would("drop", name, f"user {name} would go, who has {has}{alone}{left}")
            return
        check_last(db, alone, f"user {name} would go", yes=yes)
        with change_under_way("user list"):
            db.users.drop(name, if_exists=if_exists)
    _did("drop", name, f"user {name} is gone{alone}{left}")


@role.command("create", epilog="Example: qsync role create clerk")
@click.argument("name")
@click.option("--if-not-exists", is_flag=True, help="Succeed if it exists already.")
@_common
def create_role(*, name: str, if_not_exists: bool, target: list[str], timeout: float) -> None:
    """Create a role without privileges."""
    with connected(target, timeout) as db, change_under_way("role list"):
        db.users.create_role(name, if_not_exists=if_not_exists)
    _did("create", name, f"role {name} is there")


@role.command("drop", epilog="Example: qsync role drop clerk --dry-run")
@click.argument("name")
@click.option("--if-exists", is_flag=True, help="Succeed if it does not exist.")
@yes_option
@_dry_run
@_common
def drop_role(
    *, name: str, if_exists: bool, yes: bool, dry_run: bool, target: list[str], timeout: float
) -> None:
    """Drop a role, and revoke it from all its users and roles."""
    with changing(target, timeout) as db:
        alone = words_if_alone(db.users.list(), dropped=name)
        if dry_run:
            has = in_words(db.users.info(name))
            _would("drop", name, f"role {name} would go, which has {has}{alone}")
            return
        check_last(db, alone, f"role {name} would go", yes=yes)
        with change_under_way("role list"):
            db.users.drop_role(name, if_exists=if_exists)
    _did("drop", name, f"role {name} is gone{alone}")


def _grants(command: Callable[P, R]) -> Callable[P, R]:
    for option in (
        click.option(
            "--role", "granted_role", metavar="ROLE", help="A role and all its privileges."
        ),
        click.option(
            "--space", metavar="NAME", help="On this space, or on all with a prefix: 'orders.*'."
        ),
        click.argument("privileges", required=False, default=""),
        click.argument("grantee", metavar="NAME"),
    ):
        command = option(command)
    return _dry_run(_common(command))


def _revokes(command: Callable[P, R]) -> Callable[P, R]:
    return yes_option(_grants(command))


def _grant(
    verb: str,
    grantee: str,
    privileges: str,
    *,
    space: str | None,
    role: str | None,
    yes: bool,
    dry_run: bool,
    target: list[str],
    timeout: float,
) -> None:
    named = [each.strip() for each in privileges.split(",") if each.strip()]
    if bool(named) == bool(role) or (space and role):
        raise click.UsageError("give PRIVILEGES such as read,write, or --role ROLE")
    what = f"role {role}" if role else f"{','.join(named)} on {space or 'everything'}"
    with changing(target, timeout) as db:
        note = note_on(db, space) if verb == "grant" and space and "create" not in named else None
        alone = ""
        if verb == "revoke" and not space:
            gone = universal_grant(grantee, named, role=role)
            alone = words_if_alone(db.users.list(), deprived=gone)
        if dry_run:
            now = in_words(db.users.info(grantee))
            _would(
                verb, grantee, f"{grantee} would be {_DONE[verb]} {what}; now it has {now}{alone}"
            )
            if note and not style().as_json:
                say(note)
            return
        check_last(db, alone, f"{grantee} would be {_DONE[verb]} {what}", yes=yes)
        change = db.users.grant if verb == "grant" else db.users.revoke
        with change_under_way(f"user show {shlex.quote(grantee)}"):
            change(grantee, named, space=space, role=role)
    _did(verb, grantee, f"{grantee} is {_DONE[verb]} {what}{alone}", note=note)


_DONE = {"grant": "granted", "revoke": "deprived of"}


def _granting(group: click.Group, verb: str, about: str) -> None:
    """The same command for users and for roles."""
    name = {"user": "ann", "role": "clerk"}[str(group.name)]

    @group.command(
        verb, help=about, epilog=f"Example: qsync {group.name} {verb} {name} read --space a"
    )
    @(_grants if verb == "grant" else _revokes)
    def command(
        *,
        grantee: str,
        privileges: str,
        space: str | None,
        granted_role: str | None,
        dry_run: bool,
        target: list[str],
        timeout: float,
        yes: bool = False,
    ) -> None:
        _grant(
            verb,
            grantee,
            privileges,
            space=space,
            role=granted_role,
            yes=yes,
            dry_run=dry_run,
            target=target,
            timeout=timeout,
        )


for _group in (user, role):
    _granting(
        _group,
        "grant",
        "Grant PRIVILEGES (read,write,...) to NAME, or a role. Without --space: on everything.",
    )
    _granting(_group, "revoke", "Revoke what was granted with the same arguments.")


def _would(verb: str, name: str, what: str) -> None:
    if style().as_json:
        document("dry-run", verb=verb, name=name, would=what)
    else:
        say(what)


def _did(verb: str, name: str, what: str, **more: object) -> None:
    given = {key: value for key, value in more.items() if value is not None}
    if style().as_json:
        document("user-changed", verb=verb, name=name, **given)
        return
    say(what)
    if "note" in given:
        say(str(given["note"]))
    if "password" in given:
        text(str(given["password"]))
