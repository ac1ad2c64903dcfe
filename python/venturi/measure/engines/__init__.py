"""What workloads run on: a folder for each engine, see `registry`."""
