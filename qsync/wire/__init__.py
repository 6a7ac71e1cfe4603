"""Bytes to messages and back, sans-IO: frames, greeting, session table, limits."""
