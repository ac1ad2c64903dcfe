"""Clusters of hosts: their file, their connection, the differences between them, their clocks."""
