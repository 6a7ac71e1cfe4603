"""Evidence as Spark DataFrames: its tables, the rules over them, and reports.

```python
from admin.checker import frames

evidence = frames.read_bundles("run")
evidence.wal.groupBy("node", "kind").count().show()
report = evidence.check()
report.violations.show()
report.save_html("report.html")
```

It needs `pip install 'qsync-cluster[spark]'`.
"""

from admin.checker.frames.evidence import EvidenceFrames
from admin.checker.frames.frame_rule import FrameRule
from admin.checker.frames.own_rules import rule, witness
from admin.checker.frames.readers import check_histories, from_tables, json_text, read_bundles
from admin.checker.frames.results import EvidenceResult
from admin.checker.frames.rules import RULES
from admin.checker.frames.schemas import VERDICTS, VIOLATIONS, table_schema

__all__ = [
    "RULES",
    "VERDICTS",
    "VIOLATIONS",
    "EvidenceFrames",
    "EvidenceResult",
    "FrameRule",
    "check_histories",
    "from_tables",
    "json_text",
    "read_bundles",
    "rule",
    "table_schema",
    "witness",
]
