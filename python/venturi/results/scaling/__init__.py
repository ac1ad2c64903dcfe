"""Beyond what was measured: more nodes, more data, slower peers."""
