"""The how-to guides, which come with qsync: for `qsync help`, and for errors that point to one."""

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from qsync.errors import ConfigError

INSTALLED: Final = Path(__file__).with_name("guides")
"""Where a wheel has them."""
IN_A_CHECKOUT: Final = Path(__file__).parents[1] / "docs" / "how-to"
_TITLE: Final = "# "


@dataclass(frozen=True, slots=True)
class Guide:
    """A page in Markdown. `topic`: its name for `qsync help`."""

    topic: str
    path: Path

    @property
    def markdown(self) -> str:
        """The whole text."""
        return self.path.read_text(encoding="utf-8")

    @property
    def title(self) -> str:
        """Its first line."""
        return self.markdown.partition("\n")[0].removeprefix(_TITLE)


def all_guides() -> list[Guide]:
    """By their topics. Raises ConfigError where the pages were not installed."""
    folder = INSTALLED if INSTALLED.is_dir() else IN_A_CHECKOUT
    if not folder.is_dir():
        raise ConfigError(
            f"the guides are not here: there is no {folder}", hint="install qsync again"
        )
    return [Guide(path.stem, path) for path in sorted(folder.glob("*.md"))]


def guide(topic: str) -> Guide:
    """One of them. Raises ConfigError for a topic that there is not."""
    found = {each.topic: each for each in all_guides()}
    if topic not in found:
        alike = get_close_matches(topic, found, n=1)
        hint = f"did you mean {alike[0]}?" if alike else "`qsync help` lists the topics"
        raise ConfigError(f"there is no topic {topic!r}", hint=hint)
    return found[topic]
