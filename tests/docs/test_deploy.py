"""What the deployment page and the files of ``deploy/`` name exists and is accepted."""

from __future__ import annotations

import re
import shutil
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml

from memory_assets.defs.assemble import defs

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "deploy.md").read_text("utf-8"), re.S)


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    """The services of the compose file."""
    found = yaml.safe_load((ROOT / "deploy" / "docker-compose.yaml").read_text("utf-8"))
    services: dict[str, Any] = found["services"]
    for service in services.values():
        named = {v.split(":")[0] for v in service.get("volumes", ()) if not v.startswith("$")}
        assert named <= found["volumes"].keys()
    return services


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_of_a_backfill_are_valid_run_configuration(example: str) -> None:
    """What is copied from the page into the launchpad is accepted there."""
    job = defs.resolve_job_def("nightly_consolidation")
    config = dg.validate_run_config(job, yaml.safe_load(example))
    assert config["ops"]["ledger_events"]["config"]


def test_both_kinds_of_backfill_have_an_example() -> None:
    """Days and tenants, and sessions by name."""
    assert len(EXAMPLES) == 2


def test_every_service_starts_a_program_that_the_package_brings(services: dict[str, Any]) -> None:
    """A name that is misspelt would show only when the containers are started."""
    programs = {s["command"][0] for s in services.values() if "command" in s}
    assert programs == {"dagster", "dagster-webserver", "dagster-daemon", "memory-assets"}
    for program in programs:
        assert shutil.which(program, path=str(Path(sys.executable).parent)), program


def test_every_service_that_another_waits_for_says_when_it_is_healthy(
    services: dict[str, Any],
) -> None:
    """``service_healthy`` without a health check would wait for ever."""
    for service in services.values():
        for other, condition in service.get("depends_on", {}).items():
            assert condition == {"condition": "service_healthy"}
            assert "healthcheck" in services[other]


def test_the_image_is_built_from_files_that_are_there_and_not_ignored() -> None:
    """Everything that the Dockerfile copies reaches the builder."""
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text("utf-8")
    copied = [
        source
        for line in re.findall(r"^COPY (?!--from)(.*)$", dockerfile, re.M)
        for source in line.split()[:-1]
    ]
    kept = [
        line[1:]
        for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines()
        if line.startswith("!")
    ]
    assert len(copied) == 6
    for source in copied:
        assert (ROOT / source).exists(), source
        assert any(fnmatch(source, k) or source.startswith(f"{k}/") for k in kept), source
