"""Why a connection failed, in words for people."""


def reason(error: BaseException) -> str:
    """What the system said: without its number, and without what a library made of it."""
    cause: BaseException | None = error.__cause__
    while isinstance(cause, BaseExceptionGroup):
        cause = cause.exceptions[0]
    told = cause if isinstance(cause, OSError) else error
    said = told.strerror if isinstance(told, OSError) else None
    return said or str(told) or type(told).__name__
