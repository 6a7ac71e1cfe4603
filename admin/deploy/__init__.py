"""How nodes are run: under systemd, in containers, on Kubernetes; and what shells complete."""
