"""The HTTP interface: every page is a URL whose state is in the query string, with a JSON twin."""
