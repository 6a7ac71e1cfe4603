"""A node of a lab in a line: its address, its process, and where its status page is."""

from admin.lab.lab import Lab, LabNode
from admin.lab.secure import is_secure


def state_of(node: LabNode) -> str:
    """Return running, paused or stopped."""
    process = node.process
    if process is None:
        return "stopped"
    return "paused" if process.paused else "running"


def row_of(node: LabNode) -> dict[str, object]:
    """Return it for programs."""
    process = node.process
    return {
        "name": node.name,
        "id": node.id,
        "address": node.address,
        "state": state_of(node),
        "pid": None if process is None else process.pid,
        "dir": node.dir,
        "metrics": node.metrics,
    }


def line_of(lab: Lab, node: LabNode) -> str:
    """Return it for people."""
    process = node.process
    pid = f"pid {'-' if process is None else process.pid}"
    page = "" if node.metrics is None else f"{_scheme(lab, node)}://{node.metrics}/"
    return f"{node.name:<4} {node.address:<21} {state_of(node):<8} {pid:<12} {page}".rstrip()


def _scheme(lab: Lab, node: LabNode) -> str:
    """Return how the page is opened: with TLS where the node speaks it there."""
    if not is_secure(lab.dir):
        return "http"
    from qsync.config import NodeConfig  # noqa: PLC0415 - reads YAML, which only this lab needs

    return "https" if NodeConfig.load(node.config, {}).tls.metrics else "http"
