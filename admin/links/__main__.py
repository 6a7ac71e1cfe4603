"""The process that carries the links of one lab: `python -m admin.links DIR`."""

import json
import sys
from pathlib import Path

import trio

from admin.links.proxy import ProxiedConnection, Proxy
from admin.links.rules import DirectedLink, LinkPlan


def main(directory: Path) -> None:
    """Serve until SIGTERM."""
    state = json.loads((directory / "lab.json").read_text("utf-8"))
    plan = LinkPlan.from_json(state["links"])
    addresses = {node["name"]: node["address"] for node in state["nodes"]}
    trio.run(_serve, plan, addresses)


async def _serve(plan: LinkPlan, addresses: dict[str, str]) -> None:
    roads: dict[DirectedLink, ProxiedConnection] = {}
    for link in plan.ports:
        host, _, port = addresses[link.target].rpartition(":")
        roads[link] = ProxiedConnection(link=link, target=(host, int(port)))
    await Proxy(roads).serve(plan.ports, plan.control)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
