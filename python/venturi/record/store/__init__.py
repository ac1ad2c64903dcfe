"""Where trials are stored: database, tables, files and series."""
