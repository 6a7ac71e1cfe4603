"""Clusters of real processes on this machine: founding, starting, stopping them."""
