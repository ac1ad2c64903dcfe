"""Changes that a server accepts: uploads, exclusions, views."""
