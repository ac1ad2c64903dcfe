"""One file a step, numbered, only ever added to."""
