"""Engines, labs and plans killed."""
