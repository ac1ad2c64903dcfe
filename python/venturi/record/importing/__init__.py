"""Imports of results from other tools: one list of formats and one code path for all of them."""
