"""Ten Spark programs with one planted fault each, and Venturi's findings in their logs."""
