"""The commands of transcripts: every `acts_*.py` beside this file adds some with `@act`."""

import importlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.scenarios.stage import Stage

Act = Callable[["Stage", list[str]], None]

ACTS: dict[str, Act] = {}


def act(function: Act) -> Act:
    """Make a function a command of the same name (`hand_over` is written `hand-over`).

    It gets the stage and the words after its name, and speaks with `stage.say`. Its docstring
    begins with how it is written: `put N NAME... [async]: what it does`.
    """
    name = function.__name__.replace("_", "-")
    usage = inspect.getdoc(function) or ""
    assert name not in ACTS, f"two commands are called {name}"
    assert usage.startswith(name), f"the docstring of {name} does not begin with its name"
    ACTS[name] = function
    return function


def load() -> None:
    """Import every module of commands."""
    for path in sorted(Path(__file__).parent.glob("acts_*.py")):
        importlib.import_module(f"tests.scenarios.{path.stem}")


def perform(stage: "Stage", command: str) -> list[str]:
    """One command line; what it made the nodes say, in order."""
    word, *words = command.split()
    assert word in ACTS, f"no command {word!r}; known: {', '.join(sorted(ACTS))}"
    stage.said = []
    ACTS[word](stage, words)
    return stage.said
