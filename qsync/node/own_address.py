"""Where a node listens: its own name may not be known yet when its machine or pod starts."""

import socket
from typing import Final

import trio

from qsync import lookups
from qsync.config import Address
from qsync.errors import ConfigError
from qsync.lookups import Door
from qsync.node.logs import NodeLog

UNKNOWN_S_MAX: Final = 60.0
"""Seconds for a name that the resolver does not know; one without an answer is awaited for ever."""
RETRY_S: Final = 1.0


async def own_doors(option: str, address: Address, log: NodeLog) -> list[Door]:
    """Return the addresses to listen on, all those of the name; wait until it is resolved.

    Raises ConfigError after `UNKNOWN_S_MAX` if the name stays unknown.
    """
    until = trio.current_time() + UNKNOWN_S_MAX
    while True:
        try:
            doors = await lookups.awaited(address.host, address.port, trio.lowlevel.wait_readable)
        except UnicodeError as error:
            raise _unknown(option, address, str(error)) from None
        except OSError as error:
            if error.errno != socket.EAI_AGAIN and trio.current_time() >= until:
                raise _unknown(option, address, error.strerror or str(error)) from None
            log.tell("own_name_unknown", {"name": address.host, "why": error.strerror})
            await trio.sleep(RETRY_S)
        else:
            return list(dict.fromkeys(doors))


def _unknown(option: str, address: Address, why: str) -> ConfigError:
    return ConfigError(
        f"{option} = {address}: {address.host} is not known: {why}",
        hint="write a name of this machine that DNS or /etc/hosts knows, or its address",
    )
