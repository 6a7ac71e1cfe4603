"""What a user or a role may do, as `db.users` tells it."""

from collections.abc import Sequence

from qsync.data.schema import known_names
from qsync.rights import EVERY


def in_words(one: object) -> str:
    """The privileges of a user or role, in a line."""
    if not isinstance(one, dict) or not isinstance(one.get("rights"), dict):
        return "nothing"
    rights = one["rights"]
    parts = [", ".join(rights.get("universe", []))]
    parts += [f"{space}: {', '.join(found)}" for space, found in rights.get("spaces", {}).items()]
    if rights.get("roles"):
        parts.append(f"by roles {', '.join(rights['roles'])}")
    return "; ".join(part for part in parts if part) or "nothing"


def may_do_everything(one: object) -> bool:
    """Whether a user has the privilege `super`, by a role or by itself."""
    if not isinstance(one, dict) or not isinstance(one.get("rights"), dict):
        return False
    return "super" in one["rights"].get("universe", [])


def creation_in_words(name: str, *, first: bool, known: bool) -> str:
    """What `user create` would do."""
    if known:
        return f"user {name} is there already: nothing would be done"
    if first:
        return (
            f"user {name} would be created, the first one: with role super, and from then on "
            "every client must log in"
        )
    return f"user {name} would be created"


def names_nothing(granted: str, known: Sequence[str]) -> str | None:
    """A note if what is granted on is the name of no space or sequence. `known`: all names."""
    begin = granted.removesuffix(EVERY)
    if granted in known or (begin != granted and any(each.startswith(begin) for each in known)):
        return None
    hint = known_names(granted, [each for each in known if not each.startswith("_")])
    called = f"named {granted}" if begin == granted else f"whose name begins with {begin}"
    return f"there is no space or sequence {called}: the right counts once there is one ({hint})"
