"""The `qsync` command: makes sure that the packages beside us are ours, then hands over to them."""

import gc
import sys

from qsync import early

TYPE_CHECKING = False  # that of typing would be read before Ctrl-C is looked after
if TYPE_CHECKING:
    from types import ModuleType

SIBLINGS = ("election", "admin", "cli")
"""Common words: another distribution, or a folder in the way, may bear the same name."""
YOUNG_OBJECTS = 100_000
"""So many more objects live before the collector looks at them: twice what a command loads."""


def main() -> None:
    """Run the command line, or say what is in the way (exit code 2)."""
    try:
        _run()
    except KeyboardInterrupt:  # before that is looked after; from then on it says so itself
        print("interrupted", file=sys.stderr)
        sys.exit(early.INTERRUPTED)


def _run() -> None:
    gc.set_threshold(YOUNG_OBJECTS)
    import signal  # noqa: PLC0415 - within the `try` of our caller

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not ignored
        signal.signal(signal.SIGINT, early.end_at_once)
    from qsync import form  # noqa: PLC0415 - now that an interrupt is looked after

    complaint = stranger() or form.warning()
    if complaint is not None:
        print(complaint, file=sys.stderr)
        sys.exit(2)
    from cli.main import main as command  # noqa: PLC0415 - only after the check above

    try:
        command()
    finally:
        gc.freeze()  # or the end of the process is a search for garbage in all that it loaded


def stranger() -> str | None:
    """The foreign package that shadows one of ours, or None if all are ours."""
    import importlib  # noqa: PLC0415 - now that an interrupt is looked after

    for name in SIBLINGS:
        try:
            package = importlib.import_module(name)
        except ImportError as error:
            return (
                f"qsync: its package {name!r} cannot be imported: {error}; reinstall qsync-cluster"
            )
        if getattr(package, "PART_OF", None) != "qsync":
            return (
                f"qsync: another package took our place: {name} from {_place(package)}\n"
                "install qsync-cluster in an environment of its own "
                "(uv tool install qsync-cluster), or run it from another folder"
            )
    return None


def _place(package: "ModuleType") -> str:
    return package.__file__ or str(next(iter(getattr(package, "__path__", ["?"]))))


if __name__ == "__main__":
    main()
