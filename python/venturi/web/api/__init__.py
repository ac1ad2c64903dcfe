"""The HTTP interface: a page's URL has its state in the query string, and a JSON endpoint."""
