"""All kernels that follow logs. A new family is one more line here, and a step in `walk.py`."""

from admin.checker.kernels.kernel import LogKernel
from admin.checker.kernels.logs import limbo, owner, replayed

KERNELS: tuple[LogKernel, ...] = (*owner.KERNELS, *limbo.KERNELS, *replayed.KERNELS)
