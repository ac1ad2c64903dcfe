"""The effect of a setting, all else being equal."""
