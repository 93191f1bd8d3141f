"""The review pages in a real browser: from the checklist to a published memory."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memory_assets.domain.visibility import Principal
from memory_assets.pipeline.nightly.night import run_night
from memory_assets.pipeline.nightly.samples import copy_samples
from memory_assets.pipeline.review.decide import ReviewDesk, Verdict
from memory_assets.pipeline.workspace import Workspace
from memory_assets.steps.review.items import ItemRef
from memory_assets.steps.search.feedback import give_feedback
from tests.building import close, row, write_session
from tests.e2e.browser import browser, screenshot
from tests.e2e.processes import Service, wait_for

if TYPE_CHECKING:
    from selenium.webdriver import Chrome
    from selenium.webdriver.remote.webelement import WebElement

pytestmark = pytest.mark.e2e
NASTY = (
    '<script>document.title="owned"</script> [x](javascript:alert(1)) ![i](http://127.0.0.1:9/i)'
)

LINES = (
    "const all = document.createRange(); all.selectNodeContents(arguments[0]);"
    "return all.getClientRects().length"
)


@dataclass(frozen=True)
class Served:
    """A running server, its home, and the link that it printed."""

    home: Path
    ledgers: Path
    url: str

    @property
    def workspace(self) -> Workspace:
        """The installation behind the pages."""
        return Workspace.load(
            home=str(self.home), ledgers=str(self.ledgers), embedding="hashed:256"
        )


@pytest.fixture(name="served", scope="module")
def _served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The samples after one night, a session with hostile text, and a server on loopback."""
    root = tmp_path_factory.mktemp("pages")
    samples = copy_samples(root / "home")
    nasty = row(1, subject=NASTY, detail=f"**bold** {NASTY}", rationale=NASTY)
    write_session(samples.ledgers, "clinica", "2026-03-01-nasty", [nasty, row(2), close(3)])
    environment = {
        "MEMORY_ASSETS_HOME": str(samples.home),
        "MEMORY_ASSETS_LEDGERS": str(samples.ledgers),
        "MEMORY_ASSETS_EMBEDDING": "hashed:256",
        "MEMORY_ASSETS_REVIEWER": "anna.rossi",
        "PYTHONUNBUFFERED": "1",
    }
    found = Served(samples.home, samples.ledgers, "")
    run_night(found.workspace, now=datetime.now(UTC), run_id="first")
    command = [sys.executable, "-m", "memory_assets", "review", "serve", "--port", "0"]
    service = Service("review", [*command, "--tenant", "clinica"], root, environment).start()
    try:
        link = wait_for(
            lambda: service.check() and _link(service), seconds=120, what="the printed link"
        )
        yield Served(samples.home, samples.ledgers, str(link))
    finally:
        service.stop()


def _link(service: Service) -> str | None:
    found = re.search(r"http://127\.0\.0\.1:\d+/sign-in\?token=\S+", service.tail())
    return found.group() if found else None


@pytest.fixture(name="page")
def _page(served: Served) -> Iterator[Chrome]:
    """A signed-in window."""
    with browser(width=1280, height=900) as window:
        window.get(served.url)
        yield window


def _one(page: Chrome, css: str) -> WebElement:
    """The first such element, once the page has one: a click returns before its answer is there."""
    found = wait_for(lambda: _all(page, css), seconds=20, what=css, every=0.05)
    return found[0]


def _told(page: Chrome, words: str) -> bool:
    """Whether the page comes to say so in the line that tells what was done."""
    look = "return (document.querySelector('.flash') || {}).textContent || ''"
    return wait_for(lambda: words in page.execute_script(look), seconds=20, what=words, every=0.05)


def _all(page: Chrome, css: str) -> list[WebElement]:
    return page.find_elements("css selector", css)


def _press(page: Chrome, key: str) -> None:
    _one(page, "body").send_keys(key)


def _base(served: Served) -> str:
    return served.url.partition("/sign-in")[0]


def test_a_stranger_sees_nothing(served: Served) -> None:
    """Without the token there is a sign-in page, and a wrong token opens nothing."""
    with browser(width=1280, height=700) as window:
        window.get(_base(served) + "/sessions/clinica/2026-02-02-scompenso")
        assert "/sign-in" in window.current_url
        assert "scompenso" not in _one(window, "main").text
        _one(window, "input[name=token]").send_keys("wrong")
        _one(window, "button.yes").click()
        assert "nobody's" in _one(window, "[role=alert]").text
        screenshot(window, "review-sign-in")


def test_the_queue_shows_what_waits_and_filters_it(page: Chrome, served: Served) -> None:
    """Every waiting item is there, without a cap, and filters narrow the list."""
    from selenium.webdriver.support.ui import Select

    waiting = served.workspace.assess(now=datetime.now(UTC)).candidates.height
    assert _one(page, "h1").text == f"{waiting} waiting"
    assert len(_all(page, "[data-row]")) == waiting
    screenshot(page, "review-queue")
    # Not typed: on a busy machine a list takes slow letters for the beginnings of several words.
    Select(_one(page, "select[name=label]")).select_by_visible_text("refines")
    _one(page, ".filters button").click()
    wait_for(lambda: "label=refines" in page.current_url, seconds=20, what="the filtered list")
    assert len(_all(page, "[data-row]")) == 1
    assert [e.text for e in _all(page, ".chip-refines")] == ["refines mem-0002"]


def test_hostile_text_stays_text(page: Chrome, served: Served) -> None:
    """No script runs, no link runs code, no image is fetched; Markdown still works."""
    page.get(_base(served) + "/items/clinica/2026-03-01-nasty/seq:1")
    assert "owned" not in page.title.split(" · ")[1]
    assert _all(page, "main script") == []
    assert _all(page, "main img") == []
    links = [a.get_attribute("href") or "" for a in _all(page, "main a")]
    assert not [href for href in links if href.startswith("javascript")]
    assert _one(page, ".body .md strong").text == "bold"
    assert "<script>" in _one(page, "h1").text
    screenshot(page, "review-hostile")


def test_an_item_is_compared_and_accepted_with_a_key(page: Chrome, served: Served) -> None:
    """Side by side with what differs; ``a`` accepts, the next item opens, ``u`` takes it back."""
    page.get(_base(served) + "/items/clinica/2026-02-05-ablazioni-per-medico/seq:10")
    differing = _one(page, ".near .tokens")
    assert "60" in differing.text
    assert "90" in differing.text
    for heading in _all(page, ".tokens th"):
        assert page.execute_script(LINES, heading) == 1, heading.text
    assert "60" in [e.text for e in _all(page, ".diff ins")]
    assert "90" in [e.text for e in _all(page, ".diff del")]
    screenshot(page, "review-item")
    _press(page, "a")
    assert _told(page, "1 accepted")
    assert "seq:10" not in page.current_url
    _press(page, "u")
    assert _told(page, "Taken back")
    assert "seq:10" in page.current_url


def test_another_wording_is_accepted_and_the_original_kept(page: Chrome, served: Served) -> None:
    """``e`` opens the form; the new text is published with the one that it came from."""
    page.get(_base(served) + "/items/clinica/2026-01-19-popolazione-fa/seq:2")
    _press(page, "e")
    detail = _one(page, "textarea[name=detail]")
    assert detail.is_displayed()
    detail.clear()
    detail.send_keys("Si escludono i pazienti minorenni alla data della visita")
    screenshot(page, "review-edit")
    _one(page, "#edit button.yes").click()
    assert _told(page, "1 accepted")


def test_the_checklist_accepts_ticked_and_declines_unticked(page: Chrome, served: Served) -> None:
    """Everything is preselected; afterwards the session is reviewed and closed."""
    page.get(_base(served) + "/sessions/clinica/2026-01-23-riammissioni")
    boxes = _all(page, "input[name=item]")
    assert len(boxes) == 2
    assert all(box.is_selected() for box in boxes)
    screenshot(page, "review-session")
    boxes[1].click()
    _one(page, "button[value=decide]").click()
    assert _told(page, "1 accepted, 1 declined")
    assert "Reviewed and closed" in _one(page, "#closed").text
    screenshot(page, "review-closed")


def test_deferred_items_stay_in_the_queue(page: Chrome, served: Served) -> None:
    """The separate button puts a whole session off; nothing is declined by it."""
    page.get(_base(served) + "/sessions/clinica/2026-02-09-archivio-storico")
    count = len(_all(page, "input[name=item]"))
    _one(page, "button[value=defer]").click()
    assert _told(page, f"{count} put off")
    assert len(_all(page, "input[name=item]")) == count


def test_a_batch_is_accepted_from_the_queue(page: Chrome, served: Served) -> None:
    """Select with the keyboard, accept with one click."""
    page.get(_base(served) + "/?session=2026-02-11-impianti")
    for key in ("j", "x", "j", "x"):
        _press(page, key)
    assert _one(page, "[data-count]").text == "2 selected"
    screenshot(page, "review-batch")
    _one(page, "button[value=accept]").click()
    assert _told(page, "2 accepted")


def test_an_item_that_changed_meanwhile_is_shown_again(page: Chrome, served: Served) -> None:
    """What this page showed is no longer so: refused, not overwritten blindly."""
    page.get(_base(served) + "/items/clinica/2026-03-01-nasty/seq:2")
    page.execute_script("document.querySelector('[name^=\"seen:\"]').value = '0'.repeat(64)")
    _one(page, "button[value=accept]").click()
    assert _told(page, "not what the reviewer saw")


def test_a_colleagues_verdict_is_shown_before_it_is_replaced(page: Chrome, served: Served) -> None:
    """Somebody else decided on an item that this page still shows as waiting."""
    page.get(_base(served) + "/items/clinica/2026-03-01-nasty/seq:2")
    desk = ReviewDesk(served.workspace, "luca", now=datetime.now(UTC))
    desk.decide([ItemRef("clinica", "2026-03-01-nasty", 2)], Verdict("decline"))
    _press(page, "a")
    assert _told(page, "luca declined it")
    assert _one(page, ".chip-state").text == "declined"
    screenshot(page, "review-decided-since")
    _press(page, "a")
    assert _told(page, "1 accepted")


def test_it_works_at_phone_width_and_in_the_dark(served: Served) -> None:
    """Nothing is wider than the window, in light and in dark."""
    with browser(width=520, height=900) as window:
        window.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True},
        )
        window.get(served.url)
        for scheme in ("light", "dark"):
            window.execute_cdp_cmd(
                "Emulation.setEmulatedMedia",
                {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
            )
            for name, path in (
                ("queue", "/"),
                ("session", "/sessions/clinica/2026-02-02-scompenso"),
                ("item", "/items/clinica/2026-02-05-ablazioni-per-medico/seq:2"),
            ):
                window.get(_base(served) + path)
                wide = window.execute_script("return document.documentElement.scrollWidth")
                assert wide <= 390, (name, wide)
                for heading in _all(window, ".tokens th"):
                    assert window.execute_script(LINES, heading) == 1, heading.text
                screenshot(window, f"review-{name}-phone-{scheme}")


def test_what_was_decided_is_published_and_summarised(page: Chrome, served: Served) -> None:
    """The night applies it: memories, an edited one, markers, and the session's summary."""
    environment = {
        **os.environ,
        "MEMORY_ASSETS_HOME": str(served.home),
        "MEMORY_ASSETS_LEDGERS": str(served.ledgers),
        "MEMORY_ASSETS_EMBEDDING": "hashed:256",
    }
    command = [sys.executable, "-m", "memory_assets", "nightly", "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    memories = served.workspace.registry().memories.filter(session_id="2026-01-23-riammissioni")
    assert 8 not in memories["decision_seq"].to_list()
    edited = served.workspace.registry().memories.filter(session_id="2026-01-19-popolazione-fa")
    assert "edited" in edited["origin"].to_list()
    page.get(_base(served) + "/summary/clinica/2026-01-23-riammissioni")
    headings = [h.text for h in _all(page, "main h2")]
    assert [h.split(" ")[0] for h in headings] == ["Approved", "Declined"]
    screenshot(page, "review-summary")
    page.get(_base(served) + "/digest/clinica?days=2")
    assert "New memories" in _one(page, ".digest").text
    screenshot(page, "review-digest")


def test_feedback_is_opened_read_and_accepted(page: Chrome, served: Served) -> None:
    """What somebody said of a memory is in the queue at once; ``a`` retires the memory."""
    give_feedback(
        served.workspace.searcher,
        Principal.local("clinica"),
        "mem-0003",
        tenant_id=None,
        kind="wrong",
        why=f"not so: {NASTY}",
        given_by="Dr. Verdi",
        now=datetime.now(UTC),
    )
    page.get(_base(served) + "/?label=feedback")
    _one(page, ".row a").click()
    assert "Dr. Verdi" in _one(page, ".alert").text
    assert "<script>" in _one(page, ".alert").text
    assert "mem-0003" in _one(page, ".body").text
    assert _all(page, "main script, main img") == []
    screenshot(page, "review-feedback")
    _press(page, "a")
    assert _told(page, "1 accepted")
