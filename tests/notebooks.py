"""Runs a notebook and keeps its outputs: `python tests/notebooks.py FILE [OUT]`.

In a kernel of its own, whose working directory is a folder that is gone afterwards; what lies
beside the notebook is there, too.
"""

import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

CELL_S = 300
"""So long a cell may take."""


def run(path: Path, out: Path) -> None:
    """All cells; the first that raises ends it. Replaces `out`."""
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]  # has no types
    with tempfile.TemporaryDirectory(prefix="qsync-notebook-") as folder:
        for beside in path.absolute().parent.iterdir():
            (Path(folder) / beside.name).symlink_to(beside)
        os.environ |= {"IPYTHONDIR": f"{folder}/.ipython", "JUPYTER_RUNTIME_DIR": f"{folder}/.run"}
        client = NotebookClient(
            notebook,
            timeout=CELL_S,
            startup_timeout=CELL_S,
            coalesce_streams=True,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
        )
        client.execute()
    for cell in notebook.cells:
        cell.metadata = {}
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    nbformat.write(notebook, out)  # type: ignore[no-untyped-call]  # has no types


if __name__ == "__main__":
    source = Path(sys.argv[1])
    run(source, Path(sys.argv[2]) if len(sys.argv) > 2 else source)
