"""What an operator does with a cluster: status, leadership, members, shared settings."""
