"""The text form that Prometheus reads."""

from __future__ import annotations

from memory_assets.domain.prometheus import Gauge, exposition


def test_each_figure_has_its_meaning_type_and_values() -> None:
    """The format is the one of the Prometheus documentation, version 0.0.4."""
    text = exposition(
        [
            Gauge.plain("generation", "Number of the generation.", 7),
            Gauge.by("tenant", "memories", "Published memories.", {"b": 2, "a": 1}),
        ]
    )
    assert text == (
        "# HELP memory_assets_generation Number of the generation.\n"
        "# TYPE memory_assets_generation gauge\n"
        "memory_assets_generation 7\n"
        "# HELP memory_assets_memories Published memories.\n"
        "# TYPE memory_assets_memories gauge\n"
        'memory_assets_memories{tenant="a"} 1\n'
        'memory_assets_memories{tenant="b"} 2\n'
    )


def test_names_cannot_break_a_line() -> None:
    """A tenant's folder may be called anything."""
    text = exposition([Gauge.by("tenant", "memories", "m", {'a"b\\c\nd': 0.5})])
    assert text.splitlines()[-1] == 'memory_assets_memories{tenant="a\\"b\\\\c\\nd"} 0.5'
