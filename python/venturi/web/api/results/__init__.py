"""Endpoints that compare, price and model selected trials; `venturi.results` has the formulas."""
