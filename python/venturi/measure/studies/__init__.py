"""Studies: the varied factors, the order of trials, and the progress."""
