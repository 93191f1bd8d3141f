"""Settings that hold for every test.

``HYPOTHESIS_PROFILE`` chooses how hypothesis draws: ``memory-assets`` (new examples every run, what
a developer wants), or ``ci`` (the same examples for the same code, so that a change is taken or
refused for what it holds, and a run can be repeated).
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# Time limits of Hypothesis measure the machine, not the code: a busy one would fail sound tests.
settings.register_profile(
    "memory-assets", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("memory-assets"), derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "memory-assets"))
