"""Permissions and attribution: owners, authors, tokens, exclusions and views."""
