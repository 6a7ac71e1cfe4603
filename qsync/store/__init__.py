"""What is on disk: log, ballot, archive and folded spaces in LMDB; and the same in memory."""
