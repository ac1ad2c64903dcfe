"""Ten Spark programs with one planted fault each, and what Venturi finds in their logs."""
