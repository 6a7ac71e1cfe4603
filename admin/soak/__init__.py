"""Runs many simulated clusters, checks each, and shrinks failures until they can be read."""
