"""TLS below the protocol: who a certificate names, which files count, and bytes in and out."""
