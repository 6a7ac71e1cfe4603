"""Operations on a cluster: status, leadership, members, shared settings."""
