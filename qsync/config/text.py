"""The configuration as a commented YAML file."""

import re
from collections.abc import Collection, Mapping

_PLAIN = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./:+*() -]*")
_PEER = ("id", "name", "address", "via")
_NULLS = {"null", "Null", "NULL"}
_HEAD = """\
# Configuration of one qsync node. Lines that are commented out show the default.
# Variables (QSYNC_SECTION__OPTION) and flags override it; `qsync config show --origin` says what
# each option is and where it was set.
# Durations: 250ms, 5s, 1h. Sizes: 512B, 64MiB.
"""


def render(
    values: Mapping[str, str],
    *,
    live: Collection[str],
    about: Mapping[str, str],
    heads: Mapping[str, str],
) -> str:
    """All options in the order of `values`; those in `live` are set, the others commented out."""
    parts = [_HEAD]
    for section, head in heads.items():
        own = {key: text for key, text in values.items() if key.startswith(section + ".")}
        lines = [_option(key, own[key], about[key], set_=key in live, indent="  ") for key in own]
        parts.append(f"# {head}\n{section}:\n" + "".join(lines))
    alone = [key for key in values if "." not in key]
    plain = [_option(key, values[key], about[key], set_=key in live, indent="") for key in alone]
    return "\n".join([*parts, _peers(values), "\n".join(plain)])


def _option(key: str, text: str, about: str, *, set_: bool, indent: str) -> str:
    name = key.rpartition(".")[2]
    mark = "" if set_ else "# "
    return f"{indent}# {about}\n{indent}{mark}{name}: {_scalar(text)}\n"


def _peers(values: Mapping[str, str]) -> str:
    head = "# All members, this node included; leave it out for a node on its own.\n"
    numbers = sorted({int(key.split(".")[1]) for key in values if key.startswith("peers.")})
    if not numbers:
        return head + (
            "# peers:\n"
            "#   - {id: 1, name: n1, address: 127.0.0.1:3301}\n"
            "#   - {id: 2, name: n2, address: 127.0.0.1:3302}\n"
            "#   - {id: 3, name: n3, address: 127.0.0.1:3303}\n"
        )
    lines = [_peer(values, number) for number in numbers]
    return head + "peers:\n" + "".join(lines)


def _peer(values: Mapping[str, str], number: int) -> str:
    told = {part: values.get(f"peers.{number}.{part}", "") for part in _PEER}
    parts = [f"{part}: {_scalar(text)}" for part, text in told.items() if text]
    return f"  - {{{', '.join(parts)}}}\n"


def _scalar(text: str) -> str:
    plain = (
        _PLAIN.fullmatch(text)
        and text not in _NULLS
        and ": " not in text
        and not text.endswith((":", " "))
    )
    return text if plain else f'"{"".join(map(_letter, text))}"'


def _letter(letter: str) -> str:
    """As it may stand between double quotes: what a reader would take for a line end is escaped."""
    if letter in '"\\':
        return f"\\{letter}"
    return letter if letter.isprintable() else f"\\U{ord(letter):08x}"
