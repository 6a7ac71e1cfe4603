"""Histories from files: our own format, and formats of other projects."""

from admin.checker.readers.detect import FORMATS, DetectedHistory, HistoryFormat, read, recognised

__all__ = ["FORMATS", "DetectedHistory", "HistoryFormat", "read", "recognised"]
