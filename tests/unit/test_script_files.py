"""Files of Lua that the shell is given, and what is wrong with some."""

from pathlib import Path

import pytest

from cli.shell.scripts import read_script
from qsync.errors import ConfigError


def test_a_script_is_read_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.lua").write_text("return 'ä'\n", "utf-8")
    assert read_script(str(tmp_path / "a.lua")) == "return 'ä'\n"


def test_what_is_no_script_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "b.lua").write_bytes(b"ok \xff")
    with pytest.raises(ConfigError, match=r"b\.lua is not UTF-8 text: byte 3 is none"):
        read_script(str(tmp_path / "b.lua"))
    with pytest.raises(ConfigError, match=r"none\.lua cannot be read: No such file"):
        read_script(str(tmp_path / "none.lua"))
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        read_script(str(tmp_path))
