"""One trial: its parts, its folders and space, its execution and its record."""
