"""Jobs on nodes that are not equal and may be lost, drawn many times."""
