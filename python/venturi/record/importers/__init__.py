"""Importers: other people's results enter by the same door, marked by provenance."""
