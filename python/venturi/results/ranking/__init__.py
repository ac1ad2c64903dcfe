"""Groups of trials ranked by time or cost, with ties."""
