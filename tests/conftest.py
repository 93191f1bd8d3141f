"""Settings that hold for every test."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# Time limits of Hypothesis measure the machine, not the code: a busy one would fail sound tests.
settings.register_profile(
    "memory-assets", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("memory-assets")
