"""The native engine: the agent's own sort, and its small commands."""
