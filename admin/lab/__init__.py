"""Clusters of real processes on this machine: founded, started, kept, ended."""
