"""A deployment as ``deploy/`` describes it: code server, webserver and daemon, each a process."""

from __future__ import annotations

import json
import shutil
import signal
import sys
import urllib.request
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

import yaml

from tests.e2e.processes import Service, free_port, wait_for

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
IMPATIENT = {
    "poll_interval_seconds": 2,
    "free_slots_after_run_end_seconds": 1,
    "start_timeout_seconds": 60,
}
"""Run monitoring as a test needs it: what takes minutes in a deployment takes seconds here."""


class Deployment:
    """The three processes of a deployment on one folder; the samples lie in its ``ledgers``."""

    def __init__(self, folder: Path, config: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.dagster_home = folder / "dagster"
        self.home, self.ledgers = folder / "home", folder / "ledgers"
        self.web_port, self._code_port = free_port(), free_port()
        for path in (self.dagster_home, self.home, self.ledgers, folder / "storage"):
            path.mkdir(exist_ok=True)
        self._write_settings(config)
        self.environment = {
            "DAGSTER_HOME": str(self.dagster_home),
            "DAGSTER_LOCAL_STORAGE": str(folder / "storage"),
            "MEMORY_ASSETS_HOME": str(self.home),
            "MEMORY_ASSETS_LEDGERS": str(self.ledgers),
            "MEMORY_ASSETS_EMBEDDING": "hashed:64",
            "MEMORY_ASSETS_SENSOR_SECONDS": "5",
            **environment,
        }
        self._code: Service | None = None
        self._services = ExitStack()

    @property
    def url(self) -> str:
        """Where the webserver answers."""
        return f"http://127.0.0.1:{self.web_port}"

    def drop(self, sample: str) -> None:
        """Puts one of the sample ledgers, ``tenant/session``, into the ledgers folder."""
        source = ROOT / "memory_assets" / "samples" / "ledgers" / f"{sample}.jsonl"
        target = self.ledgers / f"{sample}.jsonl"
        target.parent.mkdir(exist_ok=True)
        shutil.copy(source, target.with_suffix(".part"))
        target.with_suffix(".part").rename(target)

    def restart_code_server(self, **environment: str) -> None:
        """Ends the code server if there is one, and starts another with a variable or two more."""
        if self._code is not None:
            self._code.stop()
        command = ["dagster", "api", "grpc", "--host", "127.0.0.1", "--port", str(self._code_port)]
        command += ["--module-name", "memory_assets.definitions"]
        self._code = self._service("code", command, environment).start()
        code = self._code
        wait_for(
            lambda: code.check() and "Started Dagster code server" in code.tail(),
            seconds=90,
            what="the code server",
        )

    def kill_code_server(self) -> None:
        """SIGKILL for the code server and the runs that it started, as when the machine stops."""
        assert self._code is not None
        self._code.stop(grace=0, first=signal.SIGKILL)

    def query(self, query: str, **variables: object) -> Any:
        """The data of a GraphQL answer."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(
            f"{self.url}/graphql", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            found = json.load(answer)
        assert "errors" not in found, found["errors"]
        return found["data"]

    def __enter__(self) -> Deployment:
        self.restart_code_server()
        workspace = ["--workspace", str(self.dagster_home / "workspace.yaml")]
        web = ["dagster-webserver", "--host", "127.0.0.1", "--port", str(self.web_port)]
        webserver = self._service("webserver", [*web, *workspace])
        daemon = self._service("daemon", ["dagster-daemon", "run", *workspace])
        self._services.enter_context(webserver)
        self._services.enter_context(daemon)
        wait_for(lambda: webserver.check() and self._answers(), seconds=90, what="the webserver")
        wait_for(daemon.check, seconds=5, what="the daemon")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._services.close()
        if self._code is not None:
            self._code.stop()
        if kind is not None:
            for log in sorted(self.folder.glob("*.log")):
                print(f"\n--- {log.name}\n{log.read_text(errors='replace')[-6000:]}")

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/server_info", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def _service(
        self, name: str, command: list[str], environment: Mapping[str, str] | None = None
    ) -> Service:
        program, *arguments = command
        return Service(
            name,
            [str(BIN / program), *arguments],
            self.folder,
            {**self.environment, **(environment or {})},
        )

    def _write_settings(self, config: Path) -> None:
        settings = yaml.safe_load(config.read_text())
        settings["run_monitoring"] |= IMPATIENT
        (self.dagster_home / "dagster.yaml").write_text(yaml.safe_dump(settings))
        workspace = yaml.safe_load((ROOT / "deploy" / "workspace.yaml").read_text())
        server = workspace["load_from"][0]["grpc_server"]
        server |= {"host": "127.0.0.1", "port": self._code_port}
        (self.dagster_home / "workspace.yaml").write_text(yaml.safe_dump(workspace))
        shutil.copy(ROOT / "memory_assets" / "samples" / "tenants.toml", self.home / "tenants.toml")
