"""Histories from files: our own, and those that other projects publish."""

from admin.checker.readers.detect import FORMATS, DetectedHistory, HistoryFormat, read, recognised

__all__ = ["FORMATS", "DetectedHistory", "HistoryFormat", "read", "recognised"]
