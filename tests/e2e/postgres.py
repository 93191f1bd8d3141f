"""A real PostgreSQL server on loopback, with its data in a folder that is gone afterwards."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.processes import Service, free_port, wait_for

USER = "dagster"
PASSWORD = "only-for-this-test"
_INIT = (
    *("--username", USER, "--auth", "scram-sha-256"),
    *("--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync"),
)


@dataclass(frozen=True)
class Postgres:
    """A running server with one database."""

    port: int
    database: str = "dagster"

    @property
    def environment(self) -> dict[str, str]:
        """What ``deploy/postgres/dagster.yaml`` reads."""
        return {
            "DAGSTER_POSTGRES_HOST": "127.0.0.1",
            "DAGSTER_POSTGRES_PORT": str(self.port),
            "DAGSTER_POSTGRES_DB": self.database,
            "DAGSTER_POSTGRES_USER": USER,
            "DAGSTER_POSTGRES_PASSWORD": PASSWORD,
        }

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a query, over a connection of its own."""
        import psycopg2

        connection = psycopg2.connect(
            host="127.0.0.1", port=self.port, dbname=self.database, user=USER, password=PASSWORD
        )
        try:
            with connection.cursor() as cursor:
                cursor.execute(query, values)
                return list(cursor.fetchall())
        finally:
            connection.close()


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """A server of its own: initialised, started, and stopped at the end."""
    programs = find_programs()
    folder = Path(tempfile.mkdtemp(prefix="memory-assets-postgres-"))
    data, secret = folder / "data", folder / "password"
    secret.write_text(PASSWORD)
    as_user = _unprivileged(folder)
    port = free_port()
    try:
        subprocess.run(
            [*as_user, programs / "initdb", "--pgdata", data, "--pwfile", secret, *_INIT],
            check=True,
            capture_output=True,
            cwd=folder,
        )
        command = [*as_user, programs / "postgres", "-D", data, "-p", str(port), "-k", folder]
        settings = ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]
        server = Service("postgres", [str(c) for c in command + settings], folder, {})
        with server:
            found = Postgres(port, "postgres")
            wait_for(lambda: server.check() and _answers(found), seconds=60, what="PostgreSQL")
            subprocess.run(
                [programs / "createdb", "-h", "127.0.0.1", "-p", str(port), "-U", USER, "dagster"],
                check=True,
                env={**os.environ, "PGPASSWORD": PASSWORD},
            )
            yield Postgres(port)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def find_programs() -> Path:
    """The folder of ``initdb`` and ``postgres``; Debian keeps them off the PATH.

    Raises:
        FileNotFoundError: PostgreSQL is not installed; the message says how to get it.
    """
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).resolve().parent
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not installed:
        raise FileNotFoundError("PostgreSQL is missing: apt-get install postgresql, or `make e2e`")
    return installed[-1].parent


def _unprivileged(folder: Path) -> Sequence[str]:
    """The prefix that runs a command as a user who may start PostgreSQL: root may not."""
    if os.geteuid() != 0:
        return []
    names = {entry.pw_name for entry in pwd.getpwall()}
    user = "postgres" if "postgres" in names else "nobody"
    for path in (folder, *folder.iterdir()):
        shutil.chown(path, user)
    return ["runuser", "-u", user, "--"]


def _answers(server: Postgres) -> bool:
    import psycopg2

    try:
        return server.rows("SELECT 1") == [(1,)]
    except psycopg2.OperationalError:
        return False
