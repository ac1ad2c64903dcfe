"""Who may do what, and who did: owners, authors, tokens, exclusions, views."""
