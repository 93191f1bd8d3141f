"""A headless Chromium that talks to loopback only, with a profile that is gone afterwards."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

ARTIFACTS = Path(__file__).resolve().parents[2] / "artifacts"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)


@contextmanager
def browser(*, width: int = 1500, height: int = 900) -> Iterator[Chrome]:
    """A browser window of this size, closed at the end.

    Raises:
        FileNotFoundError: Chromium or its driver is not installed.
    """
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        raise FileNotFoundError("Chromium is missing: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    with tempfile.TemporaryDirectory(prefix="memory-assets-browser-") as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"):
            options.add_argument(flag)
        found = webdriver.Chrome(options=options, service=Service(driver))
        try:
            found.set_page_load_timeout(90)
            yield found
        finally:
            found.quit()


def screenshot(page: Chrome, name: str) -> Path:
    """The page as a PNG below ``artifacts/``."""
    ARTIFACTS.mkdir(exist_ok=True)
    path = ARTIFACTS / f"{name}.png"
    assert page.save_screenshot(str(path)), path
    return path
