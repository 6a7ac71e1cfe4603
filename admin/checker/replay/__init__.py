"""Replays the events of nodes step by step, and checks each step against the rules."""
