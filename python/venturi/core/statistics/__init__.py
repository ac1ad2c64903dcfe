"""Statistics of small groups, and the distribution functions they need."""
