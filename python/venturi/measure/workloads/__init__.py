"""What can be run: a folder for each family, see `registry`."""
