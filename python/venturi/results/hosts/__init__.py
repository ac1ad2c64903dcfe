"""How busy the hosts of a trial were, from their series."""
