"""Operations that stay on the executors: only their number is collected."""

from collections.abc import Sequence
from typing import overload

from typing_extensions import override

from admin.checker.operation import Operation


class CountedOperations(Sequence[Operation]):
    """Operations that were not collected: only their number is known."""

    def __init__(self, size: int) -> None:
        self._size = size

    @override
    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, at: int) -> Operation: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Operation]: ...

    @override
    def __getitem__(self, at: int | slice) -> Operation | Sequence[Operation]:
        raise LookupError("the operations were checked on the executors; read them from the bundle")
