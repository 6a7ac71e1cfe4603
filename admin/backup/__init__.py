"""Backups: snapshots and the log behind them, kept where nodes are not, and restored from there."""
