"""Speed of the served pages."""
