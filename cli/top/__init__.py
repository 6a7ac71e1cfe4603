"""`qsync top`: what all nodes say, four times a second, as one picture."""
