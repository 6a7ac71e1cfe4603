"""The guide to watching a cluster: its configurations are ones, and a scrape goes as it says."""

import http.client
import re
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio
import yaml
from prometheus_client.parser import text_string_to_metric_families

from admin.metrics.server import open_metrics
from qsync.config import NodeConfig
from qsync.node.node import open_node
from tests.certificates import Authority
from tests.node.knocking import CLUSTER
from tests.node.knocking import config as alone
from tests.repo import tree

GUIDE = tree.ROOT / "docs" / "how-to" / "watch-with-prometheus.md"
REFERENCE = tree.ROOT / "docs" / "reference" / "metrics.md"
PLACE = re.compile(r"[\w.-]+:\d+")
DURATION = re.compile(r"\d+(ms|s|m|h)")


def blocks(page: Path) -> list[dict[str, Any]]:
    """All YAML of a page."""
    found = re.findall(r"(?ms)^```yaml\n(.*?)^```$", page.read_text("utf-8"))
    return [yaml.safe_load(each) for each in found]


def of_prometheus(page: Path) -> list[dict[str, Any]]:
    return [each for each in blocks(page) if "metrics" not in each]


def test_what_prometheus_is_told_is_what_it_reads() -> None:
    """Its names and forms, as its documentation has them; it is not asked itself."""
    known = {
        "": {"scrape_configs", "rule_files", "alerting", "global"},
        "scrape": {
            "job_name",
            "scrape_interval",
            "scheme",
            "authorization",
            "tls_config",
            "static_configs",
        },
        "authorization": {"type", "credentials", "credentials_file"},
        "tls_config": {"ca_file", "cert_file", "key_file", "server_name"},
        "static": {"targets", "labels"},
    }
    pages = [*of_prometheus(GUIDE), *of_prometheus(REFERENCE)]
    assert sum("scrape_configs" in each for each in pages) >= 3
    for page in pages:
        assert set(page) <= known[""]
        for rules in page.get("rule_files", []):
            assert (tree.ROOT / "docs" / "monitoring" / rules).is_file()
        scrapes = page.get("scrape_configs", [])
        managers = page.get("alerting", {}).get("alertmanagers", [])
        for each in scrapes:
            assert set(each) <= known["scrape"]
            assert each["job_name"] == "qsync", "alerts and dashboard look for it"
            assert DURATION.fullmatch(each.get("scrape_interval", "1m"))
            assert each.get("scheme", "http") in {"http", "https"}
            for part in ("authorization", "tls_config"):
                assert set(each.get(part, {})) <= known[part]
        for each in (*scrapes, *managers):
            for static in each["static_configs"]:
                assert set(static) <= known["static"]
                assert all(PLACE.fullmatch(target) for target in static["targets"])


def test_what_nodes_are_told_are_options_and_safe_ones() -> None:
    told = [flags_of(each) for each in blocks(GUIDE) if "metrics" in each]
    assert len(told) == 2
    assert NodeConfig.load(None, {}, told[0]).metrics.listen == "127.0.0.1:9301"
    with pytest.raises(Exception, match=r"metrics\.listen"):
        NodeConfig.load(None, {}, told[1])  # beyond loopback without TLS


def flags_of(block: Mapping[str, Any]) -> dict[str, str]:
    told = {f"metrics.{name}": value for name, value in block["metrics"].items()}
    return {name: str(value).lower() for name, value in told.items()}


async def test_a_scrape_goes_as_the_guide_says(tmp_path: Path) -> None:
    """A node with the second configuration, read with the second one of Prometheus."""
    authority = Authority(tmp_path / "certs", cluster=CLUSTER)
    _, told = (flags_of(each) for each in blocks(GUIDE) if "metrics" in each)
    (tmp_path / told["metrics.token_file"]).write_text("as many characters as it takes\n")
    told |= {"metrics.token_file": str(tmp_path / told["metrics.token_file"])}
    told |= {"metrics.listen": "127.0.0.1:0"} | authority.flags(authority.node("n1"))
    found = alone(
        tmp_path, alone=True, **{key.replace(".", "__"): value for key, value in told.items()}
    )
    (scrape,) = (
        each["scrape_configs"][0]
        for each in of_prometheus(GUIDE)
        if each.get("scrape_configs", [{}])[0].get("scheme") == "https"
    )
    async with open_metrics(found) as served, open_node(found) as node:
        assert served is not None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(served.serve, node)
            ask = Scraper(
                scrape, served.address, {"token": tmp_path / "token", "ca.crt": authority.ca}
            )
            code, text = await trio.to_thread.run_sync(ask.read, "/metrics")
            assert code == 200
            names = {each.name for each in text_string_to_metric_families(text)}
            assert {"qsync_leader", "qsync_quorum_margin"} <= names
            code, text = await trio.to_thread.run_sync(ask.read, "/")
            assert (code, "<!doctype html>" in text) == (200, True)
            ask.headers = {}
            assert (await trio.to_thread.run_sync(ask.read, "/metrics"))[0] == 401
            code, text = await trio.to_thread.run_sync(ask.read, "/liveness")
            assert (code, text) == (200, "{}\n")
            nursery.cancel_scope.cancel()


class Scraper:
    """Does with a scrape configuration what Prometheus does with it."""

    def __init__(self, scrape: Mapping[str, Any], address: str, files: Mapping[str, Path]) -> None:
        token = files[scrape["authorization"]["credentials_file"]].read_text().strip()
        self.headers = {"Authorization": f"Bearer {token}"}
        self._address = address
        self._context = ssl.create_default_context(cafile=files[scrape["tls_config"]["ca_file"]])

    def read(self, path: str) -> tuple[int, str]:
        line = http.client.HTTPSConnection(self._address, context=self._context, timeout=20)
        try:
            line.request("GET", path, headers=self.headers)
            answer = line.getresponse()
            return answer.status, answer.read().decode()
        finally:
            line.close()
