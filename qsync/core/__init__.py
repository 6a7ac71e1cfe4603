"""What a node decides about its transactions: limbo, confirm, rollback, takeover, reads. Pure."""
