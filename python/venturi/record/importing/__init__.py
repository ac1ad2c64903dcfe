"""Taking in what others measured: one list of formats, and one way in for all of them."""
