"""Hardware advice: options, their cost, the reasons."""
