"""Causes in executors, memory and failures."""
