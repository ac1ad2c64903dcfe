"""Which machines, how many, at what price: catalogs, cost models, advice."""
