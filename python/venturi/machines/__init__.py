"""Choice of machines, their number and price: catalogs, cost models, advice."""
