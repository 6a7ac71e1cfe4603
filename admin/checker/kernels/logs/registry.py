"""All kernels of logs. A new family is one more line here, and a step in `walk.py`."""

from admin.checker.kernels.kernel import PartKernel
from admin.checker.kernels.logs import limbo, names, neighbours, owner, replayed, requests

KERNELS: tuple[PartKernel, ...] = (
    *neighbours.KERNELS,
    *names.KERNELS,
    *owner.KERNELS,
    *limbo.KERNELS,
    *replayed.KERNELS,
    *requests.KERNELS,
)
