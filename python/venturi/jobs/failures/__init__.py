"""What failures mean, and their remedies."""
