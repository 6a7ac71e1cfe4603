"""Many simulated lives of a cluster, each one judged; failures are made small enough to read."""
