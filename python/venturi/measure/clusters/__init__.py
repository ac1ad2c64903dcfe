"""Many hosts: their file, their connection, what differs between them, their clocks."""
