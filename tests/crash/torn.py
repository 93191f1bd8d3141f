"""What a loss of power does on top of a kill: files that were never made durable may be torn."""

from __future__ import annotations

from pathlib import Path
from random import Random

FOLDERS = ("index", "registry", "generations")
Stamps = dict[Path, tuple[int, int]]


def stamps(home: Path) -> Stamps:
    """Size and time of every file that publication writes."""
    found = {}
    for folder in FOLDERS:
        for path in (home / folder).rglob("*"):
            if path.is_file():
                stat = path.stat()
                found[path] = (stat.st_size, stat.st_mtime_ns)
    return found


def tear(home: Path, before: Stamps, random: Random) -> int:
    """Count of files torn: of those written since ``before``, which nobody published, about half.

    A torn file is empty, cut short, or has its size but zeros for bytes, as file systems leave it.
    """
    torn = 0
    for path, stamp in sorted(stamps(home).items()):
        if before.get(path) == stamp or random.random() < 0.5:
            continue
        size = path.stat().st_size
        kind = random.randrange(3)
        with path.open("r+b") as file:
            if kind == 2:
                file.write(bytes(size))
            else:
                file.truncate(0 if kind == 0 else random.randint(0, size))
        torn += 1
    return torn
