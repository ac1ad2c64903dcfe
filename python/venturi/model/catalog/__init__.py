"""Instance types and prices, each value with a kind, a source and a date."""
