"""Conditions for starting a drill on a real cluster, and limits of its faults."""

import shutil
from collections.abc import Sequence

from admin.cluster import own_rights
from admin.cluster.surveys import ClusterSurvey
from admin.drills.failures import DrillStopped
from admin.drills.hooks.cluster import HookedCluster
from admin.drills.hooks.scopes import HOOKABLE, WITHOUT_HOOK, HookScope, hook_name
from admin.drills.model import Drill, Step

_OF_LINKS = frozenset({"with", "way"})
_UNDONE_BY_START = "start"


def minority(nodes: int) -> int:
    """Return how many nodes may be down if the drill has no limit."""
    return (nodes - 1) // 2


def tags(found: ClusterSurvey) -> set[str]:
    """Return the tags of the cluster, by its nodes."""
    return {each.cluster.tag for each in found.samples}


def check(drill: Drill, place: HookedCluster, found: ClusterSurvey) -> None:
    """Raises DrillStopped unless the cluster is that of the file and hooks exist for the method."""
    missing = lacking(drill, place)
    if missing:
        raise DrillStopped(
            f"{place.file.path} cannot do this drill: {'; '.join(missing)}",
            hint="name a command for it below `actions:`; docs/reference/drills.md lists the "
            "actions, and `qsync drill hooks systemd` prints a file to begin with",
        )
    _is_the_cluster(place, found)
    _can_be_run(drill, place)
    check_rights(found)


def check_rights(found: ClusterSurvey) -> None:
    """Raises DrillStopped for a user who may not read the log, which is the evidence at the end."""
    user = own_rights.without_dump(found.samples)
    if user is not None:
        raise DrillStopped(
            f"user {user!r} lacks the right dump: without it the drill has no evidence",
            hint=f"`qsync user grant {user} read,write,create,alter,drop,dump` gives what clients "
            "and evidence of a drill take; promote, member and settings are for steps",
        )


def lacking(drill: Drill, place: HookedCluster) -> list[str]:
    """Return the parts of the method without a hook, as text."""
    said: list[str] = []
    for number, step in enumerate(drill.method, start=1):
        if step.verb in WITHOUT_HOOK:
            continue
        where = f"step {number} (`{step.describe()}`)"
        action = HOOKABLE.get(hook_name(step.verb))
        if action is None:
            said.append(f"{where} is only for labs: no hook can do `{step.verb}`")
        elif hook_name(step.verb) not in place.file.hooks:
            said.append(f"{where} needs the hook `{hook_name(step.verb)}`, and there is none")
        else:
            links = _OF_LINKS if action.scope is HookScope.LINK else frozenset[str]()
            unknown = sorted(step.options.keys() - action.defaults.keys() - links)
            said += [f"{where}: no hook can do its option `{name}`" for name in unknown]
        if step.verb == "restart" and _UNDONE_BY_START not in place.file.hooks:
            said.append(f"{where} needs the hook `start`, and there is none")
    return said


def losing_data(method: Sequence[Step]) -> list[Step]:
    """Return the steps after which a node has lost data."""
    found = [(step, HOOKABLE.get(step.verb)) for step in method]
    return [step for step, action in found if action is not None and action.loses_data]


def _is_the_cluster(place: HookedCluster, found: ClusterSurvey) -> None:
    names = {each.cluster.name for each in found.samples}
    if names != {place.name}:
        said = ", ".join(sorted(repr(name) for name in names)) or "nobody"
        raise DrillStopped(
            f"{place.file.path} is for the cluster {place.name!r}, "
            f"and the nodes that answer are of {said}",
            hint="`cluster:` of the file has to be `cluster.name` of every node",
        )
    there = {each.name: each.listen for each in found.samples}
    there |= {each.name: each.address for each in found.silent}
    named = {node.name for node in place.nodes}
    if named != there.keys():
        lone = sorted(named ^ there.keys())
        raise DrillStopped(
            f"{place.file.path} and the cluster differ in {', '.join(lone)}: the file has "
            f"{', '.join(sorted(named))}, the cluster {', '.join(sorted(there))}",
            hint="`nodes:` has to list every member and no other node",
        )
    owners = {address: name for name, address in there.items()}
    for node in place.nodes:
        if owners.get(node.address, node.name) != node.name:
            raise DrillStopped(
                f"{node.address} is the address of {owners[node.address]}, and the file has it "
                f"for {node.name}",
                hint=f"{place.file.path}: the hooks would break another node than the drill means",
            )


def _can_be_run(drill: Drill, place: HookedCluster) -> None:
    verbs = {hook_name(step.verb) for step in drill.method} - WITHOUT_HOOK
    undoing = {HOOKABLE[verb].undone_by for verb in verbs}
    folder = str(place.file.path.absolute().parent)
    for action in sorted(verbs | {verb for verb in undoing if verb}):
        command = place.file.hooks[action].command
        program = command.words[0]
        if command.shell or command.fields_in_program:
            continue
        where = program if program.startswith("/") or "/" not in program else f"{folder}/{program}"
        if shutil.which(where) is None:
            raise DrillStopped(
                f"the hook of {action} begins with {program!r}, and there is no such command here",
                hint="a command is searched in PATH; "
                "one with a / is relative to the folder of the file",
            )
