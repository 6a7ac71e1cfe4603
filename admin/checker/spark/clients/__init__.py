"""Histories of clients at scale: operations are paired, spread by key, and judged key by key."""
