"""Which is better, by how much, and is it real: comparisons over recorded trials."""
