"""Makes the small home that is kept for this version: ``python -m tests.homes.make FILE.tar.gz``.

Run it once before a release, with the release's schema version in the name (``v1.tar.gz``), and
never again for that version: what is kept is what that version wrote.
"""

from __future__ import annotations

import sys
import tarfile
import tempfile
from pathlib import Path

from memory_assets.domain.intents import Retire
from memory_assets.storage.intents import append_intents
from tests.building import close, row
from tests.nights import NOW, World

KEPT = ("home", "ledgers")
LEFT_OUT = ("cache", "locks", "dagster")


def write_home(archive: Path) -> None:
    """Two tenants, three nights, a corroboration, a refused line, a reviewer and a retirement."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        world.tenants('[tenants.bank]\nreview = "automatic"\n[tenants.clinic]\nreview = "manual"\n')
        world.session("bank", "s1", row(1, subject="aum", detail="assets"), row(2), close(3))
        world.session("clinic", "s1", row(1, subject="ablation", detail="procedure"), close(2))
        world.night()
        world.review("clinic", "s1", 1, "accept")
        world.session("bank", "s2", row(1, subject="aum", detail="assets."), close(2))
        world.session("bank", "s3", b"{no", close(2))
        world.night()
        retire = Retire(
            tenant_id="bank",
            memory_id="mem-0002",
            decided_by="reviewer anna",
            decided_at=NOW,
            reason="outdated",
        )
        append_intents(world.workspace.home, [retire])
        world.night()
        with tarfile.open(archive, "w:gz") as out:
            for name in KEPT:
                out.add(world.root / name, name, filter=_kept)


def _kept(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    parts = Path(member.name).parts
    return None if len(parts) > 1 and parts[1] in LEFT_OUT else member


if __name__ == "__main__":
    write_home(Path(sys.argv[1]))
