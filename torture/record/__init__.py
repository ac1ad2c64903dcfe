"""Repositories, archives and imports killed or fed hostile input."""
