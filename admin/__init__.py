"""What an operator may ask, do, rehearse and prove. Internal: the public package is `qsync`."""

PART_OF = "qsync"
