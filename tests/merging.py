"""Homes with published memories, built from the few definitions that a test is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memory_assets.pipeline.merge.semantic import SemanticMerge
from memory_assets.pipeline.workspace import Workspace
from tests.building import close, note, row, write_session

NOW = datetime(2026, 3, 1, tzinfo=UTC)
TENANT = "clinic"
Definition = tuple[str, str]
"""(subject, detail)."""


class MergeWorld:
    """One home whose sessions carry their own acceptance, so that memories are quick to make."""

    def __init__(self, root: Path, embedding: str = "hashed:256") -> None:
        self.ledgers = root / "ledgers"
        self.home = root / "home"
        self.home.mkdir(parents=True)
        self.settings = f'ledgers = "{self.ledgers}"\nembedding = "{embedding}"\n'
        self._sessions = 0
        self._runs = 0

    def add(
        self, definitions: Sequence[Definition], tenant: str = TENANT, **fields: Any
    ) -> list[str]:
        """One session per definition; the ids of the memories that the next night makes."""
        for subject, detail in definitions:
            self._sessions += 1
            content: Mapping[str, Any] = {"subject": subject, "detail": detail, **fields}
            accepted = note(2, "memory_promoted", "seq:1", phase="F8")
            rows = [row(1, **content), accepted, close(3)]
            write_session(self.ledgers, tenant, f"s{self._sessions:04d}", rows)
        before = {m for t, m in self._memories() if t == tenant}
        self.night()
        return [m for t, m in self._memories() if t == tenant and m not in before]

    def night(self) -> None:
        """Ledgers and intents into the next generation."""
        (self.home / "settings.toml").write_text(self.settings)
        self._runs += 1
        workspace = self.workspace()
        workspace.ingest()
        workspace.decide()
        workspace.publish(run_id=f"run-{self._runs}", now=NOW)

    def workspace(self) -> Workspace:
        """The workspace, opened anew."""
        return Workspace.load(home=str(self.home))

    def merge(self) -> SemanticMerge:
        """The merge on the published generation."""
        return SemanticMerge(self.workspace())

    def status(self, tenant: str = TENANT) -> dict[str, str]:
        """Memory id → active, superseded or retired."""
        rows = self.workspace().registry().of_tenant(tenant).status()
        return dict(rows.select("memory_id", "status").iter_rows())

    def hashes(self) -> dict[str, str]:
        """Memory id → content hash."""
        rows = self.workspace().registry().memories
        return dict(rows.select("memory_id", "content_sha256").iter_rows())

    def _memories(self) -> list[tuple[str, str]]:
        if not (self.home / "settings.toml").exists():
            return []
        return self.workspace().registry().memories.select("tenant_id", "memory_id").rows()
