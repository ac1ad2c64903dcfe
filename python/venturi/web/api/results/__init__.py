"""Twins that compare, price and model what is selected; the formulas are in `venturi.results`."""
