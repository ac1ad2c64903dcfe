"""What resampling begins with, the same every time."""

SEED = 1979
