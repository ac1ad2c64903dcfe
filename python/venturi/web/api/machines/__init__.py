"""Pages about machines: advice, catalogs, clusters."""
