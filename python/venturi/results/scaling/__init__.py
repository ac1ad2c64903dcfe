"""Scaling beyond the measurements: more nodes, more data, slower peers."""
