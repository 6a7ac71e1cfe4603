"""Whom a certificate names: a node or a user of one cluster, as a URI among its names.

`qsync://CLUSTER/node/NAME` and `qsync://CLUSTER/user/NAME`, where CLUSTER is the cluster's UUID. So
one authority may serve several clusters, and no certificate of the one opens another.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from urllib.parse import quote, unquote

SCHEME: Final = "qsync://"
_PARTS: Final = 3


class Bearer(StrEnum):
    """What a certificate is for. One of a user never opens what is a node's, nor the reverse."""

    NODE = "node"
    USER = "user"


@dataclass(frozen=True, slots=True)
class CertifiedName:
    """Who holds the key of a certificate."""

    cluster: str
    bearer: Bearer
    name: str

    def __str__(self) -> str:
        return f"{self.bearer} {self.name}"

    @property
    def uri(self) -> str:
        """As it stands in the certificate."""
        return f"{SCHEME}{self.cluster}/{self.bearer}/{quote(self.name, safe='')}"


Certify = Callable[[CertifiedName, bytes], None]
"""Gets the name in the certificate of a node, and the channel binding."""


def parse(uri: str) -> CertifiedName | None:
    """The name in a URI; None when it is not one of ours."""
    parts = uri.removeprefix(SCHEME).split("/") if uri.startswith(SCHEME) else []
    if len(parts) != _PARTS or not all(parts) or parts[1] not in set(Bearer):
        return None
    return CertifiedName(parts[0], Bearer(parts[1]), unquote(parts[2]))


def named_in(certificate: Mapping[str, object]) -> CertifiedName | None:
    """Whom a certificate names, as `ssl` shows it; None unless it names exactly one."""
    names = certificate.get("subjectAltName", ())
    assert isinstance(names, tuple)
    found = [name for kind, uri in names if kind == "URI" and (name := parse(uri)) is not None]
    return found[0] if len(found) == 1 else None
