"""A text under a key: `put` replaces it, `append` adds to its end, `get` returns it."""

import itertools
from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from admin.checker.clip import clip
from admin.checker.linear.models import (
    Atom,
    FittedModel,
    Sentinel,
    State,
    look_atoms,
)
from admin.checker.operation import Frozen, Operation

ROOT = 0
"""The node of the initial text in a tree of texts."""


@dataclass(frozen=True, slots=True)
class Text:
    """A missing key reads as `initial`, or as null."""

    initial: str = ""

    def fit(self, operations: Sequence[Operation]) -> FittedModel:
        """Texts that are not a prefix of any answer are merged.

        If no piece is written twice and none is a prefix of another, an answer shows its pieces and
        their order. Then a piece that was read has one possible position.
        """
        pieces = [_text(each.value) for each in operations if each.f != "get"]
        answers = {_answer(each.value, self.initial) for each in operations if each.f == "get"}
        if not self.initial and _can_be_told_apart(pieces):
            return _PieceMachine(pieces, answers)
        return _TextMachine(self.initial, answers)

    def needless(self, operations: Sequence[Operation]) -> frozenset[int]:
        """Pieces that are not part of any answer."""
        whole = "\0".join({_answer(e.value, self.initial) for e in operations if e.f == "get"})
        return frozenset(
            each.number
            for each in operations
            if each.ended is None and _text(each.value) not in whole
        )

    def atoms(self, operations: Sequence[Operation]) -> list[Atom]:
        """Appended pieces, also in the answers, if they are distinguishable; single gets."""
        pieces = [_text(each.value) for each in operations if each.f != "get"]
        atoms = look_atoms(operations)
        if not self.initial and _can_be_told_apart(pieces):
            atoms = [("piece", _text(e.value)) for e in operations if e.f == "append"] + atoms
        return atoms

    def without(self, operations: Sequence[Operation], gone: Collection[Atom]) -> list[Operation]:
        """Answers keep their remaining pieces."""
        known = {_text(each.value) for each in operations if each.f != "get"}
        lengths = sorted({len(piece) for piece in known})
        erased = {atom[1] for atom in gone if isinstance(atom, tuple) and atom[0] == "piece"}
        kept: list[Operation] = []
        for each in operations:
            if each.f != "get":
                if not (each.f == "append" and each.value in erased):
                    kept.append(each)
            elif ("number", each.number) not in gone:
                text = _answer(each.value, self.initial)
                parts = _split(text, known, lengths) if erased else None
                if parts is None:
                    kept.append(each)
                else:
                    rest = "".join(part for part in parts if part not in erased)
                    kept.append(replace(each, value=rest))
        return kept


class _TextMachine:
    """For pieces that are not distinguishable: the state is the text."""

    def __init__(self, initial: str, answers: Collection[str]) -> None:
        self._initial = initial
        self._answers = sorted(answers)
        self.start = self._known(initial)

    def idle(self, f: str, value: Frozen) -> bool:
        return f != "get" and not any(_text(value) in answer for answer in self._answers)

    def words(self, state: State) -> str:
        return repr(state)

    def step(self, state: State, f: str, value: Frozen) -> State:
        match f:
            case "get":
                return state if _answer(value, self._initial) == state else Sentinel.NEVER
            case "put":
                return self._known(_text(value))
            case "append":
                return self._known(state + _text(value)) if isinstance(state, str) else state
            case other:
                raise ValueError(f"a text has no operation {clip(other)}")

    def _known(self, text: str) -> State:
        at = bisect_left(self._answers, text)
        begins = at < len(self._answers) and self._answers[at].startswith(text)
        return text if begins else Sentinel.UNSEEN


class _PieceMachine:
    """For distinguishable pieces: the state is a node in the tree of all answers."""

    def __init__(self, pieces: Collection[str], answers: Collection[str]) -> None:
        known = set(pieces)
        lengths = sorted({len(piece) for piece in pieces})
        self._nodes: dict[tuple[int, str], int] = {}
        self._answers: dict[str, int] = {}
        self._read: set[str] = set()
        self.start = ROOT
        above: list[tuple[str, int]] = [("", ROOT)]
        # In this order a text comes after all of its prefixes, so each end is split once.
        for text in sorted(answers):
            while not text.startswith(above[-1][0]):
                above.pop()
            begin, node = above[-1]
            parts = _split(text[len(begin) :], known, lengths)
            if parts is None:
                continue
            for part in parts:
                node = self._nodes.setdefault((node, part), len(self._nodes) + 1)
            self._read.update(parts)
            self._answers[text] = node
            above.append((text, node))

    def idle(self, f: str, value: Frozen) -> bool:
        return f != "get" and _text(value) not in self._read

    def words(self, state: State) -> str:
        above = {node: (before, piece) for (before, piece), node in self._nodes.items()}
        assert isinstance(state, int)
        text, node = "", state
        while node != ROOT:
            node, piece = above[node]
            text = piece + text
        return repr(text)

    def step(self, state: State, f: str, value: Frozen) -> State:
        match f:
            case "get":
                return state if self._answers.get(_text(value), -1) == state else Sentinel.NEVER
            case "put":
                return self._nodes.get((ROOT, _text(value)), Sentinel.UNSEEN)
            case "append":
                return self._append(state, _text(value))
            case other:
                raise ValueError(f"a text has no operation {clip(other)}")

    def _append(self, state: State, piece: str) -> State:
        node = self._nodes.get((state, piece)) if isinstance(state, int) else None
        if node is not None:
            return node
        # Every read has this piece after one text only, and this is another text.
        return Sentinel.NEVER if piece in self._read else Sentinel.UNSEEN


def _can_be_told_apart(pieces: Sequence[str]) -> bool:
    """Each is written once, and none is a prefix of another."""
    ordered = sorted(pieces)
    return all(pieces) and not any(
        after.startswith(before) for before, after in itertools.pairwise(ordered)
    )


def _split(text: str, pieces: Collection[str], lengths: Sequence[int]) -> list[str] | None:
    """The pieces that make a text, or None if they do not."""
    parts: list[str] = []
    at = 0
    while at < len(text):
        part = next((p for n in lengths if (p := text[at : at + n]) in pieces), None)
        if part is None:
            return None
        parts.append(part)
        at += len(part)
    return parts


def _text(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError(f"a text, not {clip(value)}")
    return value


def _answer(value: object, initial: str) -> str:
    return initial if value is None else _text(value)
