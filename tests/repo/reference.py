"""The tables of the reference that the code knows better: made from it, held equal by a test.

`python -m tests.repo.reference` rewrites them. A table stands between two comments:
`<!-- from the code: NAME -->` and `<!-- end -->`.
"""

import ast
import functools
import importlib
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import click

from admin.campaign.drawing import FAULTS as CAMPAIGN
from admin.drills import reference as drill_pages
from admin.drills.hooks.scopes import HOOKABLE, option_fields
from admin.drills.measure import MEASURES
from admin.drills.probes import PROBES, MeasureUnit
from admin.drills.verbs.catalogue import VERBS
from admin.drills.verbs.verb import Takes
from cli.error_modules import ERROR_MODULES
from cli.exits import Exit
from cli.main import COMMANDS
from qsync import errors
from qsync.config import NodeConfig
from qsync.config.aliases import ALIASES
from qsync.data.keys import ENCODERS, FieldType
from qsync.data.needs import OP_NEEDS
from qsync.data.operation_kinds import Op
from qsync.faultpoints import POINTS
from qsync.faults import ABOUT, Fault
from qsync.happenings import HAPPENINGS as ALL
from qsync.options.core_options import CORE_OPTIONS
from qsync.rights import ROLES
from qsync.sim.explore.menu import FAULTS as EXPLORED
from qsync.sim.swarm import NAMES as NEMESIS
from qsync.wire.verb_rights import VERB_RIGHTS
from tests.repo import invariant_rows, shell_rows, status_fields, tree

DOCS = tree.ROOT / "docs" / "reference"
_BLOCK = re.compile(r"<!-- from the code: (?P<name>[a-z ]+) -->\n.*?<!-- end -->", re.DOTALL)

LINKS: Mapping[str, str] = {
    "its fault points": "drills.md#fault-points",
    "what happens inside of it": "evidence.md#what-nodes-write-down",
    "/metrics and the health URLs": "metrics.md",
}
"""Words of options that have a page of their own."""
WIDTH = 100


def options() -> Iterator[str]:
    """Every option of a node: its name, its default, what it is for."""
    values = NodeConfig().values()
    yield from _table("option", "default", "meaning")
    for key, about in NodeConfig.about().items():
        text = values.get(key, "")
        yield f"| `{key}` | {f'`{text}`' if text else 'none'} | {_linked(about)} |"


def shared() -> Iterator[str]:
    """What a cluster may set for all its nodes."""
    names = [f"`{each.name}`" for each in CORE_OPTIONS if each.shared]
    yield ", ".join(names) + "."


def tarantool() -> Iterator[str]:
    """Tarantool's names of our options."""
    yield from _table("name", "option")
    yield from (f"| `{name}` | `{ours}` |" for name, ours in ALIASES.items())


def error_codes() -> Iterator[str]:
    """Every error: number, code, outcome, whether a retry makes sense, what it means."""
    for home in ERROR_MODULES:
        importlib.import_module(home)
    yield from _table("number", "code", "outcome", "retry", "meaning")
    for each in sorted(errors.all_errors(), key=lambda each: each.number):
        retry = "yes" if each.retryable else "no"
        about = " ".join((each.__doc__ or "").partition("\n\n")[0].split())
        yield f"| {each.number} | `{each.code}` | {each.outcome.value} | {retry} | {about} |"


def exit_codes() -> Iterator[str]:
    """How commands end."""
    yield from _table("code", "meaning")
    yield from (f"| {int(each)} | {each.about} |" for each in Exit)


def field_types() -> Iterator[str]:
    """What a field may hold, and which types may be part of a key."""
    source = tree.parse(tree.ROOT / "qsync/data/keys.py")
    about = dict(_members(source, "FieldType"))
    yield from _table("type", "values", "part of a key")
    for each in FieldType:
        yield f"| `{each}` | {about[each.name]} | {'yes' if each in ENCODERS else 'no'} |"


def drill_steps() -> Iterator[str]:
    """Every verb of a drill's steps."""
    behind = {Takes.DURATION: ": 3s", Takes.PROBE: ": {probe: ...}"}
    yield from _table("step", "does", "undone by")
    for verb in VERBS.values():
        spec = verb.spec
        words = ", ".join(f"`{word}`" for word in spec.options)
        name = f"`{spec.name}{behind.get(spec.takes, '')}`"
        undone = "" if spec.undone_by is None else f"`{spec.undone_by}`"
        yield f"| {name}{', ' if words else ''}{words} | {spec.about} | {undone} |"


def drill_hooks() -> Iterator[str]:
    """Every action that a hook can do to a real cluster."""
    yield from _table("action", "the hook", "is run for", "undone by", "fields of its options")
    for name, each in HOOKABLE.items():
        undone = "" if each.undone_by is None else f"`{each.undone_by}`"
        fields = ", ".join(f"`{{{field}}}`" for field in option_fields(name))
        yield f"| `{name}` | {each.about} | {each.scope.value} | {undone} | {fields} |"


def drill_probes() -> Iterator[str]:
    """Everything that a drill may ask."""
    yield from _table("probe", "asks", "of a node", "in the simulator")
    for each in PROBES.values():
        about = each.about if each.scale is MeasureUnit.TRUTH else f"{each.about} ({each.scale})"
        yield f"| `{each.name}` | {about} | {_yes(each.node)} | {_yes(each.simulated)} |"


def drill_measures() -> Iterator[str]:
    """Every number of a run."""
    yield from _table("measure", "is", "in")
    yield from (f"| `{each.name}` | {each.about} | {each.scale} |" for each in MEASURES.values())


def faults() -> Iterator[str]:
    """Everything that can be broken on purpose, and who does it."""
    heads = ("drills", "a node itself", "campaign", "seeds", "every order")
    yield from _table("fault", "what happens", *heads)
    for each in Fault:
        verbs = _names(verb.spec.name for verb in VERBS.values() if each in verb.spec.faults)
        strikes = _names(kind for kind, made in CAMPAIGN.items() if each in made)
        bounds = _names(bound for bound, fault in EXPLORED.items() if fault is each)
        itself = "yes" if each in POINTS else ""
        seeds = "yes" if each in NEMESIS else ""
        row = (f"`{each}`", ABOUT[each], verbs, itself, strikes, seeds, bounds)
        yield f"| {' | '.join(row)} |"


def fault_points() -> Iterator[str]:
    """What a node can do to itself."""
    yield from _table("fault point", "what happens")
    yield from (f"| `{each}` | {ABOUT[each]} |" for each in POINTS)


def happenings() -> Iterator[str]:
    """What a node tells of, each in the sentence that people see; fields are in italics."""
    yield from _table("event", "severity", "what the node did or found")
    for name, each in ALL.items():
        said = "; or: ".join(re.sub(r"{(\w+)}", r"*\1*", one) for one in each.sentences)
        yield f"| `{name}` | {each.severity} | {said} |"


def commands() -> Iterator[str]:
    """Every command with its arguments and options, as `--help` has them."""
    for name, (place, _) in COMMANDS.items():
        module, _, attribute = place.partition(":")
        found: object = getattr(importlib.import_module(module), attribute)
        assert isinstance(found, click.Command)
        yield from _command(found, f"qsync {name}")


def rights_of_verbs() -> Iterator[str]:
    """What each verb takes."""
    yield from _table("verb", "right")
    for verb, right in VERB_RIGHTS.items():
        yield f"| {verb.name} | {right.words} |"


_MORE_RIGHTS: Mapping[int, str] = {
    Op.REGISTER_CONSUMER: "; of another user's member, too",
    Op.ADVANCE_CONSUMER: "; of another user's member, too",
    Op.LET_GO_CONSUMER: "; of one's own read",
    Op.DROP_CONSUMER: "; of one's own read",
    Op.ALTER_USER: "; of one's own password session",
}
"""What depends on whom a thing belongs to."""


def rights_of_operations() -> Iterator[str]:
    """What each operation of a transaction takes, on a space called SPACE."""
    yield from _table("operation", "rights")
    for op, needs in OP_NEEDS.items():
        found = needs("", [op, "SPACE", {"name": "NEW"} if op == Op.ALTER_SPACE else None])
        words = [
            str(each.privilege) + (f" on {each.space}" if each.space else "") for each in found
        ]
        yield f"| {Op(op).name} | {', '.join(words)}{_MORE_RIGHTS.get(op, '')} |"


def ready_made_roles() -> Iterator[str]:
    """The roles that are there from birth."""
    yield from _table("role", "rights, on the universe")
    for name, held in ROLES.items():
        yield f"| `{name}` | {', '.join(sorted(held))} |"


BLOCKS: Mapping[str, Callable[[], Iterable[str]]] = {
    "options": options,
    "shared options": shared,
    "names of tarantool": tarantool,
    "errors": error_codes,
    "exit codes": exit_codes,
    "field types": field_types,
    "commands": commands,
    "drill catalogue": drill_pages.catalogue,
    "shell injections": shell_rows.injections,
    "shell refusals": shell_rows.refusals,
    "drill steps": drill_steps,
    "drill hooks": drill_hooks,
    "drill probes": drill_probes,
    "drill measures": drill_measures,
    "fault points": fault_points,
    "happenings": happenings,
    "faults": faults,
    "invariants": invariant_rows.invariants,
    "planted faults": invariant_rows.planted_faults,
    "evidence columns": invariant_rows.evidence_columns,
    "box info": status_fields.box_info,
    "beyond box info": status_fields.beyond_box_info,
    "rights of verbs": rights_of_verbs,
    "rights of operations": rights_of_operations,
    "ready made roles": ready_made_roles,
}


def places() -> list[Path]:
    """Every page that has such tables."""
    return [path for path in sorted(DOCS.glob("*.md")) if _BLOCK.search(path.read_text("utf-8"))]


@functools.cache
def pages() -> dict[Path, str]:
    """Those pages as they should be."""
    return {path: _BLOCK.sub(_made, path.read_text("utf-8")) for path in places()}


def _made(block: re.Match[str]) -> str:
    name = block["name"]
    lines = "\n".join(BLOCKS[name]())
    return f"<!-- from the code: {name} -->\n{lines}\n<!-- end -->"


def _linked(words: str) -> str:
    for phrase, target in LINKS.items():
        words = words.replace(phrase, f"[{phrase}]({target})")
    return words


def _names(found: Iterable[str]) -> str:
    return ", ".join(f"`{each}`" for each in found)


def _yes(found: object) -> str:
    return "yes" if found else "no"


def _table(*columns: str) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"


def _members(source: ast.Module, name: str) -> Iterator[tuple[str, str]]:
    """The members of an enumeration and the text below each."""
    body = next(
        node.body for node in source.body if isinstance(node, ast.ClassDef) and node.name == name
    )
    for line, below in pairwise(body):
        match line, below:
            case ast.Assign(targets=[ast.Name(id=word)]), ast.Expr(value=ast.Constant(value=text)):
                yield word, str(text)
            case _:
                continue


def _command(command: click.Command, words: str) -> Iterator[str]:
    context = click.Context(command, info_name=words, max_content_width=WIDTH)
    if isinstance(command, click.Group):
        yield f"## `{words}`"
        yield ""
        yield from _help(command)
        for name in command.list_commands(context):
            part = command.get_command(context, name)
            assert part is not None
            yield from _command(part, f"{words} {name}")
        return
    arguments = " ".join(command.collect_usage_pieces(context))
    yield f"## `{words} {arguments}`"
    yield ""
    yield from _help(command)
    rows = [
        record
        for parameter in command.get_params(context)
        if isinstance(parameter, click.Option)
        and not parameter.hidden
        and "--help" not in parameter.opts
        and (record := parameter.get_help_record(context)) is not None
    ]
    if rows:
        yield from _table("option", "does")
        yield from (f"| `{_cell(option)}` | {_cell(text)} |" for option, text in rows)
        yield ""


def _help(command: click.Command) -> Iterator[str]:
    text = (command.help or "").partition("\f")[0].replace("\b\n", "")
    for paragraph in text.split("\n\n"):
        yield textwrap.dedent(paragraph).strip()
        yield ""
    for paragraph in (command.epilog or "").split("\n\n"):
        yield from _as_it_stands(paragraph) if paragraph.startswith("\b") else [paragraph]
        yield ""


def _as_it_stands(paragraph: str) -> Iterator[str]:
    """Lines that are not filled: examples to copy, below their title, or a list of words."""
    lines = paragraph.removeprefix("\b\n").splitlines()
    if lines[0].endswith(":"):
        yield lines.pop(0)
        yield ""
    yield from textwrap.indent(textwrap.dedent("\n".join(lines)), "    ").splitlines()


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
