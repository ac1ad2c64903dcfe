"""Shared by all packages: errors, settings, units, quantities, statistics."""
