"""All built-in rules by their ids, as functions over evidence."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from admin.checker.frames.evidence import EvidenceFrames
from admin.checker.frames.frame_rule import FrameRule
from admin.checker.quick import TITLES
from admin.checker.rules.catalogue import BY_ID

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def _built_in(id_: str, title: str, needs: tuple[str, ...]) -> FrameRule:
    def find(evidence: EvidenceFrames) -> "DataFrame":
        return evidence.violations(id_)

    return FrameRule(id_, title, needs, find)


RULES: Mapping[str, FrameRule] = MappingProxyType(
    {
        **{each.id: _built_in(each.id, each.title, each.needs) for each in BY_ID.values()},
        **{id_: _built_in(id_, title, ("ops",)) for id_, title in TITLES.items()},
    }
)
"""By id: rules of logs and nodes first, then rules of client histories."""
