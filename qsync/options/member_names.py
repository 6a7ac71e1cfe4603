"""What a member or a cluster may be called."""

import re
from typing import Final

NAME_CHARS_MAX: Final = 63
"""Characters of the name of a member, or of a cluster."""
MEMBER_NAME: Final = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_.-]{{0,{NAME_CHARS_MAX - 1}}}")
"""What a member of a cluster may be called."""
