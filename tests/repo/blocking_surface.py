"""Makes the blocking surface of the client from the async one: the same text without `await`.

What stands behind `# |` in the async text is for the blocking surface alone.
"""

import re
import subprocess
import sys
from typing import Final

from tests.repo import tree

SOURCE: Final = tree.ROOT / "qsync/client/async_"
MADE: Final = tree.ROOT / "qsync/client/sync"
NAMES: Final = {
    "AsyncConsumers": "ClientConsumers",
    "AsyncCoreClient": "CoreClient",
    "AsyncDatabase": "Database",
    "AsyncFeed": "Feed",
    "AsyncFeedRunner": "FeedRunner",
    "AsyncMembership": "ClientMembership",
    "AsyncManyRunner": "ManyRunner",
    "AsyncNode": "NodeCalls",
    "AsyncRunner": "BlockingRunner",
    "AsyncSchema": "ClientSchema",
    "AsyncSpace": "Space",
    "AsyncTransaction": "Transaction",
    "AsyncTransactionSpace": "TransactionSpace",
    "AsyncTypedSpace": "TypedSpace",
    "AsyncTypedTransactionSpace": "TypedTransactionSpace",
    "AsyncUsers": "ClientUsers",
    "AsyncValues": "Values",
    "StopAsyncIteration": "StopIteration",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "__anext__": "__next__",
    "async_": "sync",
}
"""What is called otherwise."""
RULES: Final = (
    (r"  # noqa: ASYNC109 - [^\n]*", ""),
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\bAwaitable\[(\w+)\]", r"\1"),
    (r"\bAwaitable, ", ""),
    (r"(?m)^( *)# \|", r"\1"),
)
MARK: Final = (
    "# Made from qsync/client/async_/{name} by tests/repo/blocking_surface.py: change that.\n"
)


def blocking(name: str) -> str:
    """The text of a blocking module, in the house format."""
    text = (SOURCE / name).read_text(encoding="utf-8")
    for pattern, to in RULES:
        text = re.sub(pattern, to, text)
    text = re.sub("|".join(rf"\b{each}\b" for each in NAMES), lambda found: NAMES[found[0]], text)
    first, _, rest = text.partition('"""\n')
    return formatted(f'{first}"""\n{MARK.format(name=name)}{rest}', name)


def formatted(text: str, name: str) -> str:
    """What ruff makes of it: imports in order, lines of their length."""
    for arguments in (["check", "--select", "I", "--fix"], ["format"]):
        command = [sys.executable, "-m", "ruff", *arguments, "--quiet"]
        done = subprocess.run(
            [*command, "--stdin-filename", str(MADE / name), "-"],
            cwd=tree.ROOT,
            input=text,
            capture_output=True,
            text=True,
            check=True,
        )
        text = done.stdout
    return text


def names() -> list[str]:
    """The modules of the surface."""
    return sorted(path.name for path in SOURCE.glob("*.py") if path.name != "__init__.py")
