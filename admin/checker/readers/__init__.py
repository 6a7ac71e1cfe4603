"""Histories from files: our own, and those that other projects publish."""

from admin.checker.readers.detect import FORMATS, Format, History, read, recognised

__all__ = ["FORMATS", "Format", "History", "read", "recognised"]
