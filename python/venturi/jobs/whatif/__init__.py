"""A recorded job replayed on other slots."""
