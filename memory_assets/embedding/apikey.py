"""API keys: read from the environment, sent in one header, shown nowhere."""

from __future__ import annotations

from collections.abc import Mapping

from memory_assets.errors import ProviderRejected


class ApiKey:
    """The key in one environment variable; its text forms show the variable's name only."""

    __slots__ = ("_value", "variable")

    def __init__(self, variable: str, environment: Mapping[str, str]) -> None:
        self.variable = variable
        self._value = environment.get(variable, "").strip()

    def __repr__(self) -> str:
        return f"ApiKey({self.variable}, {'set' if self._value else 'not set'})"

    def __reduce__(self) -> str:
        raise TypeError("an API key is not pickled; read it from the environment again")

    @property
    def is_set(self) -> bool:
        """Whether the variable holds anything."""
        return bool(self._value)

    def header(self) -> dict[str, str]:
        """The authorization header, or none without a key.

        Raises:
            ProviderRejected: the variable holds what no key can be.
        """
        if not self._value:
            return {}
        if not (self._value.isascii() and self._value.isprintable()) or " " in self._value:
            raise ProviderRejected(
                f"{self.variable} holds characters that no API key has.",
                remedy="Set it again, without line breaks, spaces or quotation marks.",
            )
        return {"Authorization": f"Bearer {self._value}"}

    def scrub(self, text: str) -> str:
        """``text`` without the key."""
        return text.replace(self._value, "***") if self._value else text
