"""A real cluster that a drill breaks with hooks: its nodes, and the commands for its actions."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from admin.drills.hooks.model import DrillHook, HookedNode, HookFile
from admin.drills.hooks.running import HookFailed, HookRun, failure, run_command
from admin.drills.hooks.scopes import HOOKABLE, HookScope, hook_name, texts
from admin.drills.model import Step
from admin.drills.undo_log import UndoStep
from qsync.errors import ConfigError

_NOTES = ".drill"
SPACES_NOTE = "spaces"
"""The file next to the undo log, while the clients' spaces exist: the cluster that has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookedCluster:
    """A cluster for a drill: a name, nodes, addresses, a directory for the undo log.

    `runs`: every command so far, with its result.
    """

    file: HookFile
    runs: list[HookRun] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name of the cluster in the configuration of its nodes."""
        return self.file.cluster

    @property
    def cluster(self) -> str:
        """Its name, for reports."""
        return self.file.cluster

    @property
    def dir(self) -> Path:
        """The directory of its file: the undo log is there."""
        path = self.file.path.absolute()
        return path.with_name(path.stem + _NOTES)

    @property
    def nodes(self) -> tuple[HookedNode, ...]:
        """The nodes in the order of the file."""
        return self.file.nodes

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses that they listen on."""
        return tuple(node.address for node in self.nodes)

    @property
    def directories(self) -> Mapping[int, Path]:
        """The directories of nodes on this machine: none."""
        return {}

    def node(self, name: str) -> HookedNode:
        """Return a node by name. Raises ConfigError that lists the names."""
        for node in self.nodes:
            if node.name == name:
                return node
        known = ", ".join(node.name for node in self.nodes)
        raise ConfigError(f"{self.file.path} has no node {name!r}; it has {known}")

    def command(self, action: str, fields: Mapping[str, str]) -> str:
        """Return the command as one would type it."""
        return shlex.join(self._hook(action).command.filled(fields))

    def perform(self, action: str, fields: Mapping[str, str]) -> None:
        """Run the hook of an action; record the run in every case.

        Raises HookFailed, and ConfigError if there is no such hook.
        """
        hook = self._hook(action)
        run = run_command(
            hook.action,
            hook.command.filled(fields),
            timeout=hook.timeout,
            folder=self.file.path.absolute().parent,
        )
        self.runs.append(run)
        if run.error is not None:
            raise failure(run)

    def _hook(self, action: str) -> DrillHook:
        """Return a hook. The file may have lost it since a drill that is to be healed now."""
        name = hook_name(action)
        if name not in self.file.hooks:
            raise ConfigError(f"{self.file.path} has no hook `{name}`")
        return self.file.hooks[name]

    def fields_of(
        self, step: Step, nodes: Sequence[str], links: Sequence[tuple[str, str]] = ()
    ) -> list[dict[str, str]]:
        """Return the fields of each command that a step needs, in order."""
        action = HOOKABLE[hook_name(step.verb)]
        options = texts({**action.defaults, **_known(step, action.defaults)})
        match action.scope:
            case HookScope.LINK:
                ends = [(self.node(one), self.node(two)) for one, two in links]
                return [self.file.of_link(*each) | options for each in ends]
            case HookScope.EVERY_NODE:
                return [self.file.of_node(node) | options for node in self.nodes]
            case HookScope.NODE:
                return [self.file.of_node(self.node(name)) | options for name in nodes]

    def undo(self, step: UndoStep) -> None:
        """Run the hook that undoes it at each of its nodes. Raises the last HookFailed."""
        failed: HookFailed | None = None
        for node in self.nodes if not step.node else (self.node(step.node),):
            try:
                self.perform(step.undo, self.file.of_node(node))
            except HookFailed as error:
                failed = error  # it is raised after all others were tried
        if failed is not None:
            raise failed


def _known(step: Step, defaults: Mapping[str, object]) -> dict[str, str | float | bool]:
    return {name: value for name, value in step.options.items() if name in defaults}
