"""Probes of a machine: its disks, its network, the host's facts."""
