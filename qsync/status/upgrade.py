"""What a node and its log are written in, in its status: protocol, directory, features."""

from typing import Annotated

from msgspec import Struct


class UpgradeStatus(Struct, frozen=True, kw_only=True):
    """Versions beside the release, and what of a newer release is in use."""

    protocol: Annotated[tuple[int, ...], "versions of the wire protocol that it speaks"] = ()
    format: Annotated[int, "version of the layout of its directory"] = 0
    features: Annotated[tuple[str, ...], "features that the log of the cluster uses"] = ()
    knows: Annotated[tuple[str, ...], "features that its release knows"] = ()
    waits: Annotated[
        tuple[str, ...],
        "which nodes do not know a feature yet that this release would use; reported by the leader",
    ] = ()
    unheard: Annotated[
        tuple[str, ...],
        "which nodes delay a feature because they were not heard yet; reported by the leader",
    ] = ()
