"""The trial record: the hub between measuring and modeling."""
