"""Checks: certificates and authorities that expire, and files that are not in use."""

from collections.abc import Iterator

from admin.cluster import short
from admin.doctor.facts import Facts, Finding, critical, warning

SOON_S: float = 30 * 86400.0
"""A certificate that is valid for a shorter time should be replaced."""
GRAVE_S: float = 3 * 86400.0
_LEAF, _CA = "its certificate", "an authority that it trusts"


def certificates_last(facts: Facts) -> Iterator[Finding]:
    """Certificates and authorities are valid for another month."""
    for node in facts.nodes:
        fixes = {
            _LEAF: f"`qsync cert node {node.name} --cluster {node.replicaset.uuid} --host HOST "
            "--dir fresh --ca-dir CERTS` makes another one; put its two files in the place of "
            "those in section `tls`, and the node reads them by itself",
            _CA: "make another authority, let all trust both, then replace the certificates",
        }
        for what, left in ((_LEAF, node.tls.left), (_CA, node.tls.ca_left)):
            if left is None or left >= SOON_S:
                continue
            say = critical if left < GRAVE_S else warning
            told = "has expired" if left < 0 else f"expires in {short.days(left)}"
            yield say(node.name, f"{what} {told}; new connections fail then", fixes[what])


def certificates_read(facts: Facts) -> Iterator[Finding]:
    """Changed certificate files are in use."""
    for node in facts.nodes:
        if node.tls.error is not None:
            yield warning(
                node.name,
                f"still uses its former certificate: {node.tls.error}",
                "`qsync cert check FILE --key FILE` says what is wrong; it looks every second",
            )
