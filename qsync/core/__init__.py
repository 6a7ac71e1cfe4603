"""The decisions of a node about its transactions: limbo, confirm, rollback, takeover, reads.

Pure.
"""
