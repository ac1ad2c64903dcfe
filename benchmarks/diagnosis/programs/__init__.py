"""Programs with one planted cause each: a folder per kind of cause, a file per program."""
