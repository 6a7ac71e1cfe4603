"""What a user or a role may do, as `db.users` tells it."""


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
