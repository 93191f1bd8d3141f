"""Figures → the text form that Prometheus reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

PREFIX: Final = "memory_assets_"


@dataclass(frozen=True, slots=True)
class Gauge:
    """One figure that may rise and fall: a value for each set of labels."""

    name: str
    meaning: str
    values: Mapping[tuple[tuple[str, str], ...], float] = field(default_factory=dict)

    @classmethod
    def plain(cls, name: str, meaning: str, value: float) -> Gauge:
        """A figure without labels."""
        return cls(name, meaning, {(): value})

    @classmethod
    def by(cls, label: str, name: str, meaning: str, values: Mapping[str, float]) -> Gauge:
        """A figure with one label."""
        return cls(name, meaning, {((label, k),): v for k, v in sorted(values.items())})


def exposition(gauges: Iterable[Gauge]) -> str:
    """The figures in the Prometheus text format, version 0.0.4."""
    lines: list[str] = []
    for gauge in gauges:
        name = PREFIX + gauge.name
        lines += [f"# HELP {name} {_help(gauge.meaning)}", f"# TYPE {name} gauge"]
        for labels, value in gauge.values.items():
            named = ",".join(f'{key}="{_label(text)}"' for key, text in labels)
            lines.append(
                f"{name}{{{named}}} {_number(value)}" if named else f"{name} {_number(value)}"
            )
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _help(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _label(text: str) -> str:
    return _help(text).replace('"', '\\"')
