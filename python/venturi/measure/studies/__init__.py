"""What is varied, in which order, and how far it has come."""
