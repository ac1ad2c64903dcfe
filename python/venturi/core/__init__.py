"""What every room uses: errors, settings, units, quantities, statistics."""
