"""The memory of a process, as Linux counts it."""

import re
from pathlib import Path


def resident(pid: int) -> dict[str, int]:
    """Bytes by kind: its own (`RssAnon`), and mapped files that may be dropped (`RssFile`)."""
    text = Path(f"/proc/{pid}/status").read_text("ascii")
    found = re.findall(r"(?m)^(RssAnon|RssFile):\s+(\d+) kB$", text)
    return {name: int(kilobytes) << 10 for name, kilobytes in found}
