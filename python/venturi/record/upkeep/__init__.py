"""Keeps a repository sound: checks and repairs it, deletes trials for good, and backs it up."""
