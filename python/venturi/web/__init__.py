"""Presenting: terminal tables and the report. Reads only."""
