"""Options that more than one part of a node must know: their kinds, bounds and defaults."""
