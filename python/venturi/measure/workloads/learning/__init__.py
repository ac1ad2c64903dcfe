"""Machine learning."""
