"""Files of Lua that the shell is given."""

from pathlib import Path

from qsync.errors import ConfigError


def read_script(file: str) -> str:
    """Return the text of a file. Raises ConfigError."""
    try:
        return Path(file).expanduser().read_text("utf-8")
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not UTF-8 text: byte {error.start} is none") from None
