"""Certificates of a cluster: made, looked at, judged."""
