//! Host facts and the 1 Hz sampler.
