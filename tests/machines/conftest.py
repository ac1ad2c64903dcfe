"""The models of `machines` read trials that succeeded."""

from __future__ import annotations

from model_trials import make_trial as make_trial
