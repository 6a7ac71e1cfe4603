"""Operations that stay where they were judged: only how many there are comes home."""

from collections.abc import Sequence
from typing import overload

from typing_extensions import override

from admin.checker.operation import Operation


class CountedOperations(Sequence[Operation]):
    """Operations that nobody brought here: how many there are is all that is known."""

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
        raise LookupError("the operations were judged where they are; read the bundle for them")
