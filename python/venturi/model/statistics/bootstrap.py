"""The medians of bootstrap samples without the samples, for what has no closed form.

The median's own interval needs no resampling: `stats.median_interval`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

SEED = 1979
Places = npt.NDArray[np.intp]


def middle_places(n: int, resamples: int, rng: np.random.Generator) -> tuple[Places, Places]:
    """Where among `n` sorted values the two middle ones of each resample lie (the same if odd).

    n values drawn with replacement are the values at floor(n U) for n uniform U (Efron 1979).
    Their k-th smallest is the value at floor(n U_(k)), and U_(k) is Beta(k, n - k + 1); given it,
    the next one up is 1 - (1 - U_(k)) W^(1/(n-k)) with W uniform (David and Nagaraja 2003, 2.5). So
    the middle is drawn, exactly, without drawing the sample: 200 groups of 250 in milliseconds.
    """
    k = (n + 1) // 2
    lower = rng.beta(k, n - k + 1, resamples)
    low = np.minimum((n * lower).astype(np.intp), n - 1)
    if n % 2:
        return low, low
    upper = 1 - (1 - lower) * rng.random(resamples) ** (1 / (n - k))
    return low, np.minimum((n * upper).astype(np.intp), n - 1)
