"""A node's status for machines: Prometheus text, and health URLs for load balancers."""
