"""Serializability of transactions from what clients saw, by cycles of dependencies."""

from admin.checker.elle.anomalies import Anomaly
from admin.checker.elle.appends import Appends, dependencies, understood
from admin.checker.elle.check import anomalies, check_appends
from admin.checker.elle.graph import Edge, Graph
from admin.checker.elle.levels import PROHIBITED, IsolationLevel

__all__ = [
    "PROHIBITED",
    "Anomaly",
    "Appends",
    "Edge",
    "Graph",
    "IsolationLevel",
    "anomalies",
    "check_appends",
    "dependencies",
    "understood",
]
