"""What a node says of itself: one record, defined here, filled by a node, read by all others."""
