"""The Dagster UI in a real browser: lineage and an asset's page, as a newcomer sees them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from tests.e2e.browser import browser, screenshot
from tests.e2e.deployment import BIN, ROOT
from tests.e2e.processes import Service, free_port, wait_for

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

pytestmark = pytest.mark.e2e
SAMPLES = ROOT / "memory_assets" / "samples"
LISTEN = """
window.graphqlErrors = [];
const ask = window.fetch;
window.fetch = async (...request) => {
  const answer = await ask(...request);
  if (String(request[0]).includes("graphql")) {
    answer.clone().json().then(found => window.graphqlErrors.push(...(found.errors || [])));
  }
  return answer;
};
"""
"""Keeps what the server answers with errors: the UI shows them for a moment only."""


@pytest.fixture(scope="module")
def ui() -> Iterator[str]:
    """The address of a webserver on a home in which three nights have run."""
    with tempfile.TemporaryDirectory(prefix="memory-assets-ui-") as name:
        folder = Path(name)
        environment = {
            "DAGSTER_HOME": str(folder / "dagster"),
            "MEMORY_ASSETS_HOME": str(folder / "home"),
            "MEMORY_ASSETS_LEDGERS": str(folder / "ledgers"),
            "MEMORY_ASSETS_EMBEDDING": "hashed:64",
        }
        (folder / "dagster").mkdir()
        shutil.copy(ROOT / "dagster.yaml", folder / "dagster" / "dagster.yaml")
        (folder / "home").mkdir()
        shutil.copy(SAMPLES / "tenants.toml", folder / "home" / "tenants.toml")
        _nights(folder / "ledgers", environment)
        port = free_port()
        command = [str(BIN / "dagster-webserver"), "--host", "127.0.0.1", "--port", str(port)]
        command += ["--module-name", "memory_assets.definitions"]
        with Service("webserver", command, folder, environment) as webserver:
            wait_for(
                lambda: webserver.check() and "Serving dagster-webserver" in webserver.tail(),
                seconds=120,
                what="the webserver",
            )
            yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def page() -> Iterator[Chrome]:
    """The browser of this module."""
    with browser() as found:
        found.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": LISTEN})
        yield found


def _nights(ledgers: Path, environment: dict[str, str]) -> None:
    """Three nights, each with some more of the sample sessions."""
    samples = sorted(SAMPLES.glob("ledgers/*/*.jsonl"))
    for night in range(3):
        for path in samples[night::3]:
            target = ledgers / path.parent.name / path.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
        subprocess.run(
            [sys.executable, "-m", "memory_assets", "nightly"],
            env={**os.environ, **environment},
            check=True,
            capture_output=True,
        )


def _text(page: Chrome) -> str:
    found = page.execute_script("return document.body.innerText")
    return str(found or "")


def _open(page: Chrome, address: str, *expected: str) -> str:
    """The text of a page that shows all that is expected, without an error of the server."""
    page.get(address)
    wait_for(
        lambda: all(words in _text(page) for words in expected),
        seconds=90,
        what=f"{expected} at {address}",
    )
    assert page.execute_script("return window.graphqlErrors.map(e => e.message)") == []
    return _text(page)


def test_the_lineage_shows_every_asset_by_name(ui: str, page: Chrome) -> None:
    """One picture holds the way from ledgers to the published generation and the markers."""
    from selenium.webdriver.common.by import By

    from memory_assets.definitions import defs

    nodes = defs.get_repository_def().asset_graph.asset_nodes
    opened = ",".join(sorted({f"global@global:{node.group_name}" for node in nodes}))
    page.set_window_size(2100, 1040)
    # Long names are shortened in their middle where the picture is wide.
    names = sorted({node.key.to_user_string()[:6] for node in nodes})
    _open(page, f"{ui}/asset-groups?expanded={quote(opened)}", *names)
    page.find_element(By.XPATH, "//*[text()='Hide navigation']").click()
    wait_for(lambda: "Hide navigation" not in _text(page), seconds=30, what="more room")
    time.sleep(2)  # the picture moves to its new place
    screenshot(page, "lineage")


def test_an_asset_page_says_what_it_is(ui: str, page: Chrome) -> None:
    """Description, owner, kinds, row count and the freshness policy are on the page."""
    page.set_window_size(1500, 1100)
    _open(
        page,
        f"{ui}/assets/ledger_events",
        *("Every accepted row of every ledger", "memory-assets", "Polars", "Row count"),
        "Fails if more than 2 days",
    )
    screenshot(page, "asset")


def test_the_checks_of_an_asset_say_what_they_guard(ui: str, page: Chrome) -> None:
    """Each check is listed with its outcome and its description."""
    _open(
        page,
        f"{ui}/assets/published_generation?view=checks",
        *("index_equals_registry", "ids_unique", "This is a blocking", "Passed"),
    )
    screenshot(page, "checks")


def test_a_chart_shows_the_nights(ui: str, page: Chrome) -> None:
    """The chart in the metadata of a materialization is drawn where it stands."""
    from selenium.webdriver.common.by import By

    _open(page, f"{ui}/assets/ledger_events?view=events", "new_events_by_night")
    page.find_elements(By.XPATH, "//*[text()='[Show Markdown]']")[0].click()
    drawn = "return [...document.images].filter(i => i.src.startsWith('data:image/svg')"
    drawn += " && i.complete && i.naturalWidth > 300).length"
    wait_for(lambda: page.execute_script(drawn), seconds=30, what="the chart")
    screenshot(page, "chart")


def test_the_columns_of_the_index_are_explained(ui: str, page: Chrome) -> None:
    """The column table of the search index says what each column means."""
    _open(page, f"{ui}/assets/memory_index", "folded, stemmed")
    screenshot(page, "columns")
